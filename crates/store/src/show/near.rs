//! What someone may have meant who misspelt a name.

use crate::history::Name;

/// The most names that are given.
const MOST: usize = 8;

/// The names nearest to what was typed, the nearest first: those that hold it or are held by it, then those that look
/// alike.
#[must_use]
pub fn near<'a>(typed: &str, names: impl IntoIterator<Item = &'a Name>) -> Vec<String> {
    let typed = typed.to_lowercase();
    let mut ranked: Vec<_> = names
        .into_iter()
        .map(|name| {
            let told = name.to_string();
            let known = told.to_lowercase();
            let apart = !(known.contains(&typed) || typed.contains(&known));
            (apart, strsim::damerau_levenshtein(&known, &typed), told)
        })
        .collect();
    ranked.sort();
    ranked.dedup();
    ranked.into_iter().take(MOST).map(|(_, _, told)| told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_a_part_and_the_wrong_case_find_their_name() {
        let name = |test: &str, name: &str| Name { test: test.to_owned(), name: name.to_owned() };
        let mut names: Vec<_> = (0..20).map(|n| name("fork/share", &format!("pages-{n}"))).collect();
        names.extend([name("placement/3MiB", "gap-kib"), name("placement/4632KiB", "gap-kib")]);
        let first = |typed| near(typed, &names).remove(0);
        assert_eq!(first("placement/4632KiB:gap-kb"), "placement/4632KiB:gap-kib");
        assert_eq!(first("placement/4632kib:gap-kib"), "placement/4632KiB:gap-kib");
        assert_eq!(first("placement/3MiB"), "placement/3MiB:gap-kib");
        assert_eq!(near("gap-kib", &names)[..2], ["placement/3MiB:gap-kib", "placement/4632KiB:gap-kib"]);
        assert_eq!(near("", &names).len(), MOST);
        assert_eq!(near("x", &[]), [""; 0]);
    }
}
