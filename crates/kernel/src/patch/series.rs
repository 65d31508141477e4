//! From files and folders to patches in order.

use std::{
    fs,
    path::{Component, Path},
};

use anyhow::{Context, Result};

use super::{Patch, PatchError, diff, mail};
use crate::{error::bad_input, files::sha256};

/// Reads a file with patches, or a quilt folder.
pub(super) fn read(path: &Path) -> Result<Vec<Patch>> {
    if !path.is_dir() {
        let text = fs::read(path)
            .map_err(|error| bad_input(format!("failed to read {}: {error}", path.display())))?;
        return Ok(parse(&file_name(path), &text, 1)?);
    }
    let Some(folder) =
        [path.to_owned(), path.join("patches")].into_iter().find(|one| one.join("series").is_file())
    else {
        return Err(bad_input(format!(
            "failed to read {} as a quilt folder: it holds no file named series",
            path.display()
        )));
    };
    let list = folder.join("series");
    let text = fs::read_to_string(&list).with_context(|| format!("failed to read {}", list.display()))?;
    let mut patches = Vec::new();
    for (name, strip) in
        quilt(&text).map_err(|why| bad_input(format!("failed to read {}: {why}", list.display())))?
    {
        let file = folder.join(&name);
        let text = fs::read(&file).map_err(|error| {
            bad_input(format!("failed to read {}, which {} names: {error}", file.display(), list.display()))
        })?;
        patches.extend(parse(&name, &text, strip)?);
    }
    if patches.is_empty() {
        return Err(bad_input(format!("failed to read {}: it names no patch", list.display())));
    }
    Ok(patches)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Parses a text with one patch or several.
pub(super) fn parse(name: &str, text: &[u8], strip: usize) -> Result<Vec<Patch>, PatchError> {
    let not = |why: &str| PatchError::NotAPatch { name: name.to_owned(), why: why.to_owned() };
    if text.trim_ascii().is_empty() {
        return Err(not("it is empty"));
    }
    let messages = mail::split_mbox(text);
    let single = messages.len() == 1;
    let mut numbered = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let name = if single { name.to_owned() } else { format!("{name}#{}", index + 1) };
        let mail = mail::read(message);
        let number = mail.as_ref().and_then(|mail| mail.number);
        let body = match &mail {
            Some(mail) => mail.body.clone(),
            None if crlf(message) => mail::unix_lines(message),
            None => message.clone(),
        };
        let files = diff::parse(&name, &body, strip)?;
        if files.is_empty() {
            match number {
                Some((1.., _)) => {
                    return Err(PatchError::NotAPatch { name, why: "it holds no diff".to_owned() });
                }
                // A cover letter, or what people answered.
                _ => continue,
            }
        }
        let subject = mail.as_ref().map(|mail| mail.subject.clone()).filter(|subject| !subject.is_empty());
        let (author, message_id) = mail.map(|mail| (mail.author, mail.message_id)).unwrap_or_default();
        let patch = Patch {
            subject: subject.unwrap_or_else(|| name.clone()),
            name,
            author,
            message_id,
            files,
            sha256: sha256(&body),
            text: body,
        };
        numbered.push((number, patch));
    }
    if numbered.is_empty() {
        return Err(not("it holds no diff"));
    }
    if !single {
        sort(&mut numbered).map_err(|why| not(&why))?;
    }
    Ok(numbered.into_iter().map(|(_, patch)| patch).collect())
}

fn crlf(text: &[u8]) -> bool {
    text.split_inclusive(|&byte| byte == b'\n').all(|line| line.ends_with(b"\r\n") || !line.ends_with(b"\n"))
}

/// Mails arrive in any order; their numbers tell which it is, and whether one is missing.
fn sort(patches: &mut [(Option<(usize, usize)>, Patch)]) -> Result<(), String> {
    let numbers: Vec<(usize, usize)> = patches.iter().filter_map(|(number, _)| *number).collect();
    if numbers.len() != patches.len() {
        // Without numbers (git format-patch -N, git log), the order is the file's.
        return Ok(());
    }
    patches.sort_by_key(|(number, _)| *number);
    let total = numbers.iter().map(|(_, total)| *total).max().unwrap_or_default();
    if numbers.iter().any(|(_, one)| *one != total) {
        return Err("it holds mails of different series".to_owned());
    }
    for (index, (number, _)) in patches.iter().enumerate() {
        let number = number.map(|(number, _)| number).unwrap_or_default();
        if number == 0 {
            return Err("its cover letter holds a diff".to_owned());
        }
        if number == index {
            return Err(format!("it holds patch {number}/{total} twice"));
        }
        if number != index + 1 {
            return Err(format!("patch {}/{total} is missing", index + 1));
        }
    }
    if patches.len() < total {
        return Err(format!("patch {}/{total} is missing", patches.len() + 1));
    }
    Ok(())
}

/// The names in a quilt `series` file, with how many folders to strip.
fn quilt(text: &str) -> Result<Vec<(String, usize)>, String> {
    let mut patches = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fail = |why: String| Err(format!("line {}: {why}", index + 1));
        let words = line.split_whitespace().take_while(|word| !word.starts_with('#')).collect::<Vec<_>>();
        let Some((name, options)) = words.split_first() else { continue };
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return fail(format!("{name} reaches outside the folder"));
        }
        let mut strip = 1;
        for option in options {
            match option.strip_prefix("-p").map(|depth| if depth == "ab" { Ok(1) } else { depth.parse() }) {
                Some(Ok(depth)) => strip = depth,
                _ => return fail(format!("the option {option} is not supported")),
            }
        }
        patches.push(((*name).to_owned(), strip));
    }
    Ok(patches)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DIFF: &str = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";

    fn mail(subject: &str, body: &str) -> String {
        format!("From 0123 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: {subject}\n\n{body}\n")
    }

    fn subjects(text: &str) -> Result<Vec<String>, String> {
        match parse("s.mbox", text.as_bytes(), 1) {
            Ok(patches) => Ok(patches.into_iter().map(|patch| patch.subject).collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_series_is_sorted_and_its_cover_letter_left_out() {
        let text = [
            mail("[PATCH 2/2] two", DIFF),
            mail("[PATCH 0/2] cover", "words"),
            mail("[PATCH 1/2] one", DIFF),
        ];
        assert_eq!(subjects(&text.concat()).unwrap(), ["one", "two"]);
    }

    #[test]
    fn a_series_with_a_gap_or_a_double() {
        let text = [mail("[PATCH 1/3] one", DIFF), mail("[PATCH 3/3] three", DIFF)];
        assert!(subjects(&text.concat()).unwrap_err().contains("patch 2/3 is missing"));
        let text = [mail("[PATCH 1/3] one", DIFF), mail("[PATCH 2/3] two", DIFF)];
        assert!(subjects(&text.concat()).unwrap_err().contains("patch 3/3 is missing"));
        let text = [mail("[PATCH 1/2] one", DIFF), mail("[PATCH 1/2] one", DIFF)];
        assert!(subjects(&text.concat()).unwrap_err().contains("1/2 twice"));
    }

    #[test]
    fn one_patch_of_a_series_alone_is_taken() {
        assert_eq!(subjects(&mail("[PATCH 2/3] two", DIFF)).unwrap(), ["two"]);
    }

    #[test]
    fn what_is_no_patch() {
        assert!(subjects("").unwrap_err().contains("it is empty"));
        assert!(subjects("hello\n").unwrap_err().contains("it holds no diff"));
        assert!(subjects(&mail("[PATCH 1/1] x", "no diff")).unwrap_err().contains("it holds no diff"));
    }

    #[test]
    fn a_diff_with_windows_line_ends() {
        let patches = parse("x", DIFF.replace('\n', "\r\n").as_bytes(), 1).unwrap();
        assert_eq!(patches[0].text, DIFF.as_bytes());
    }

    #[test]
    fn quilt_series() {
        let list = quilt("# comment\na.patch\n\nb.patch -p0 # why\nsub/c.patch -p2\n").unwrap();
        assert_eq!(list, [("a.patch".into(), 1), ("b.patch".into(), 0), ("sub/c.patch".into(), 2)]);
        assert!(quilt("../x\n").unwrap_err().contains("outside"));
        assert!(quilt("x -R\n").unwrap_err().contains("-R"));
    }

    #[test]
    fn a_quilt_folder() {
        let folder = tempfile::tempdir().unwrap();
        let patches = folder.path().join("patches");
        fs::create_dir(&patches).unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("no file named series"));
        fs::write(patches.join("series"), "two.patch\none.patch # later\n").unwrap();
        fs::write(patches.join("two.patch"), DIFF).unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("one.patch"));
        fs::write(patches.join("one.patch"), DIFF).unwrap();
        let names: Vec<String> = read(folder.path()).unwrap().into_iter().map(|patch| patch.name).collect();
        assert_eq!(names, ["two.patch", "one.patch"]);
    }

    proptest! {
        #[test]
        fn no_mixture_of_mail_and_diff_makes_it_panic(picks in proptest::collection::vec(0_usize..16, 0..40)) {
            let lines = [
                "From 0123 Mon Sep 17 00:00:00 2001", "From: A <a@b>", "Subject: [PATCH 1/2] x", "Subject: =?UTF-8?q?=C3?=",
                "Date: x", "Content-Type: multipart/mixed; boundary=\"b\"", "--b", "--b--", "",
                "Content-Transfer-Encoding: base64", "Content-Transfer-Encoding: quoted-printable",
                "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b", ">From x", "=C3=", "Subject: [PATCH 0/0]", "\u{e4}\r",
            ];
            let text: String = picks.iter().filter_map(|&pick| lines.get(pick)).flat_map(|line| [line, "\n"]).collect();
            let _ = parse("x", text.as_bytes(), 1);
        }
    }
}
