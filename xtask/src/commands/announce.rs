//! `cargo xtask announce`: what a bisection found becomes an issue, once.

mod gh;
mod issue;

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use mthp_bisect::record::Bisection;
use mthp_judge::text::clean;
use mthp_kernel::BadInput;

use self::{gh::Issue, issue::Announcement};
use crate::{cli::Announce, reports, ui};

/// The name of a bisection's report in its folder.
const REPORT: &str = "bisect.json";

/// Announces every bisection of a folder, one after the other.
///
/// # Errors
/// When there is none, one cannot be read (the others are announced first), or gh fails.
pub fn run(options: &Announce) -> Result<ExitCode> {
    let reports = reports::find(&options.report, REPORT)?;
    if reports.is_empty() {
        let folder = options.report.display();
        return Err(BadInput(format!("failed to find {REPORT} in {folder}, or in a folder below it")).into());
    }
    let mut announcements = Vec::new();
    let mut broken = Vec::new();
    for path in &reports {
        match announcement(path, options.link.as_deref()) {
            Ok(Ok(announcement)) => announcements.push(announcement),
            Ok(Err(why)) => ui::say(&format!("not announced: {}: {why}", path.display())),
            Err(error) => broken.push(format!("{error:#}")),
        }
    }
    if options.dry_run {
        announcements.iter().for_each(|one| ui::answer(&format!("title: {}\n\n{}", one.title, one.body())));
    } else if !announcements.is_empty() {
        announce(&announcements)?;
    }
    if broken.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(BadInput(broken.join("\n")).into()) }
}

/// What there is to say of a report, or why there is nothing.
fn announcement(path: &Path, link: Option<&str>) -> Result<Result<Announcement, String>> {
    let found: Bisection = serde_json::from_str(&reports::read(path)?)
        .map_err(|error| BadInput(format!("failed to read the bisection {}: {error}", path.display())))?;
    Ok(Announcement::of(&found, link).ok_or_else(|| format!("unfinished: {}", clean(&found.reason))))
}

fn announce(announcements: &[Announcement]) -> Result<()> {
    let mut issues = gh::open_issues()?;
    for it in announcements {
        let about = |issue: &&mut Issue| issue.texts.first().is_some_and(|body| body.contains(&it.marker));
        let Some(issue) = issues.iter_mut().find(about) else {
            let url = gh::create(&it.title, &it.body())?;
            said("opened", &url, it);
            issues.push(Issue { url, texts: vec![it.body()] });
            continue;
        };
        if issue.texts.iter().any(|text| text.contains(&it.seen)) {
            said("told before", &issue.url, it);
            continue;
        }
        gh::comment(&issue.url, &it.comment())?;
        said("told anew", &issue.url, it);
        issue.texts.push(it.comment());
    }
    Ok(())
}

fn said(what: &str, url: &str, it: &Announcement) {
    ui::answer(&format!("{what}: {} {}", clean(url), it.title));
}
