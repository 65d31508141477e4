//! Patches as mails. Pure.

use mailparse::{MailHeaderMap, ParsedMail};

/// What a mail says about its patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mail {
    /// Without `[PATCH …]`.
    pub subject: String,
    pub author: Option<String>,
    pub message_id: Option<String>,
    /// `(2, 3)` of `[PATCH 2/3]`.
    pub number: Option<(usize, usize)>,
    /// Decoded, with Unix line ends.
    pub body: Vec<u8>,
}

/// The messages of an mbox; a text that is none comes back whole.
pub(super) fn split_mbox(text: &[u8]) -> Vec<Vec<u8>> {
    let mut messages: Vec<Vec<u8>> = vec![Vec::new()];
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let mut blank = true;
    let mbox = is_separator(&lines, 0);
    for (index, line) in lines.iter().enumerate() {
        // git's own separator is one wherever it stands; others follow a blank line.
        let own = line.trim_ascii_end().ends_with(b" Mon Sep 17 00:00:00 2001");
        if (blank || own) && is_separator(&lines, index) {
            messages.push(Vec::new());
            blank = false;
            continue;
        }
        blank = line.trim_ascii().is_empty();
        // Only an mbox escapes lines that begin with From, by one more >.
        let quoted = line.strip_prefix(b">").filter(|rest| {
            let first = rest.iter().position(|&byte| byte != b'>').unwrap_or_default();
            mbox && rest.get(first..).is_some_and(|rest| rest.starts_with(b"From "))
        });
        let line = quoted.unwrap_or(line);
        if let Some(message) = messages.last_mut() {
            message.extend_from_slice(line);
        }
    }
    messages.retain(|message| !message.trim_ascii().is_empty());
    messages
}

/// `From …` followed by a header.
fn is_separator(lines: &[&[u8]], index: usize) -> bool {
    lines.get(index).is_some_and(|line| line.starts_with(b"From "))
        && lines.get(index + 1).is_some_and(|line| is_header(line))
}

fn is_header(line: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|&byte| byte == b':') else { return false };
    colon > 0 && line.iter().take(colon).all(|&byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Reads a mail; none if the text is no mail.
pub(super) fn read(text: &[u8]) -> Option<Mail> {
    let head: Vec<&[u8]> =
        text.split(|&byte| byte == b'\n').take_while(|line| !line.trim_ascii().is_empty()).collect();
    let has = |name: &[u8]| {
        head.iter().any(|line| {
            line.len() >= name.len()
                && line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        })
    };
    if !head.first().is_some_and(|line| is_header(line))
        || !has(b"subject:")
        || !(has(b"from:") || has(b"date:"))
    {
        return None;
    }
    let mail = mailparse::parse_mail(text).ok()?;
    let header = |name: &str| mail.headers.get_first_value(name).filter(|value| !value.trim().is_empty());
    let (number, subject) = subject(&header("Subject")?);
    let mut body = Vec::new();
    collect(&mail, &mut body);
    let body = unix_lines(&body);
    // A From: at the top of the body is the author, where somebody else sent the mail.
    let in_body = body.strip_prefix(b"From: ").and_then(|rest| rest.split(|&byte| byte == b'\n').next());
    let author =
        in_body.map(|name| String::from_utf8_lossy(name).trim().to_owned()).or_else(|| header("From"));
    Some(Mail { subject, author, message_id: header("Message-ID"), number, body })
}

/// All text parts: a patch may be attached.
fn collect(mail: &ParsedMail<'_>, body: &mut Vec<u8>) {
    if mail.subparts.is_empty() {
        let kind = mail.ctype.mimetype.to_ascii_lowercase();
        if (kind.starts_with("text/") && kind != "text/html")
            || kind.contains("patch")
            || kind.contains("diff")
        {
            body.extend(mail.get_body_raw().unwrap_or_default());
            if body.last().is_some_and(|&byte| byte != b'\n') {
                body.push(b'\n');
            }
        }
    }
    mail.subparts.iter().for_each(|part| collect(part, body));
}

/// Mail travels with CRLF; a patch does not mean it.
pub(super) fn unix_lines(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                plain.extend_from_slice(line);
                plain.push(b'\n');
            }
            None => plain.extend_from_slice(line),
        }
    }
    plain
}

/// `(number, total)` and the rest of a subject such as `Re: [RFC PATCH v2 2/3] mm: …`.
fn subject(text: &str) -> (Option<(usize, usize)>, String) {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut rest, mut number) = (text.as_str(), None);
    while let Some((tag, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        let found = tag.split_whitespace().find_map(|word| {
            let (number, total) = word.split_once('/')?;
            Some((number.parse().ok()?, total.parse().ok()?))
        });
        if !tag.to_ascii_uppercase().contains("PATCH") && found.is_none() {
            break;
        }
        number = number.or(found);
        rest = after.trim_start();
    }
    (number, rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects() {
        assert_eq!(subject("[PATCH v2 2/13] mm: x"), (Some((2, 13)), "mm: x".into()));
        assert_eq!(subject("[PATCH] mm:\n x"), (None, "mm: x".into()));
        assert_eq!(subject("[RFC][PATCH 0/2] y"), (None, "[RFC][PATCH 0/2] y".into()));
        assert_eq!(subject("[PATCH 1/2] [mm] z"), (Some((1, 2)), "[mm] z".into()));
        assert_eq!(subject("plain"), (None, "plain".into()));
    }

    #[test]
    fn encoded_bodies() {
        let head = "From: A <a@b>\nSubject: =?UTF-8?q?[PATCH]_=C3=A4?=\nMessage-ID: <1@x>\n";
        let text = format!("{head}Content-Transfer-Encoding: quoted-printable\n\n--- a/x=\n\n+=3D\n");
        let mail = read(text.as_bytes()).unwrap();
        assert_eq!((mail.subject.as_str(), mail.message_id.as_deref()), ("ä", Some("<1@x>")));
        assert_eq!(String::from_utf8(mail.body).unwrap(), "--- a/x\n+=\n");
        let text = format!("{head}Content-Transfer-Encoding: base64\n\nLS0tIGEveA0K\n");
        assert_eq!(read(text.as_bytes()).unwrap().body, b"--- a/x\n");
    }

    #[test]
    fn an_mbox_is_split_where_messages_begin() {
        let text = b"From abc Mon Sep 17 00:00:00 2001\nFrom: a\nSubject: 1\n\nFrom here on\n>From x\n\nFrom b Mon\nSubject: 2\n\nz\n";
        let messages = split_mbox(text);
        assert_eq!(messages.len(), 2);
        assert!(String::from_utf8_lossy(&messages[0]).contains("\nFrom x\n"));
    }

    #[test]
    fn a_diff_is_no_mail() {
        assert_eq!(read(b"diff --git a/x b/x\n"), None);
        assert_eq!(read(b"Description: x\nOrigin: y\n\n--- a/x\n"), None);
    }
}
