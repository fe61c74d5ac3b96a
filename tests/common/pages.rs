//! The pages of the repository, and the blocks of their text.

use std::fs;

/// Reads a file of the repository.
pub fn page(name: &str) -> String {
    fs::read_to_string(super::root().join(name)).unwrap()
}

/// Returns the text of each block fenced as `info`.
pub fn blocks(page: &str, info: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take().filter(|(wanted, _)| *wanted).map(|(_, text)| text)),
            (Some(found), None) => open = Some((found == info, String::new())),
            (None, Some((_, text))) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}
