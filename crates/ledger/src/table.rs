//! Tables in Markdown.

use mthp_judge::text::harmless;

/// Text that stays within its cell.
pub(crate) fn cell(text: &str) -> String {
    harmless(text).replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_cell() {
        assert_eq!(cell("a|b\n<script>"), "a\\|b &lt;script>");
    }
}
