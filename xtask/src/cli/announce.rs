//! The flags of `announce`.

use std::path::PathBuf;

use clap::Args;

/// There is one open issue for each culprit. Where no commit could be named, the issue says so and blames none.
///
/// Exit codes: 0 all that was found is announced; 2 a report that cannot be used (the others are announced); 69 gh is missing or
/// failed.
#[derive(Debug, Args)]
pub struct Announce {
    /// The folder with the report (bisect.json), or with several in folders below it
    #[arg(long, value_name = "DIR")]
    pub report: PathBuf,
    /// Where all files of the run are
    #[arg(long, value_name = "URL", value_parser = link)]
    pub link: Option<String>,
    /// Print what would be announced, and call nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// It becomes a link in Markdown.
fn link(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'*+,;=%".contains(&byte);
    if text.starts_with("https://") && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("not a URL that begins with https://".to_owned())
    }
}
