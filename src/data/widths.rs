//! Warns if files lack the last features of the ranker or of the other files.

use std::path::PathBuf;

/// A data file, with the largest feature number that occurs in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWidth {
    /// The file.
    pub path: PathBuf,
    /// The largest feature number that occurs in the file.
    pub features: usize,
}

/// Returns a warning that data have fewer features than their ranker or than other files. `data` names the data, and
/// `others` names what they are compared with. Each of these texts ends with a verb, as in `the data have`. Fewer
/// features are not an error, because LETOR text leaves out features that are 0.
pub fn fewer_features(data: &str, found: usize, others: &str, expected: usize, taken_as: &str) -> String {
    let found = match found {
        0 => "no features".to_owned(),
        1 => "feature 1 alone".to_owned(),
        last => format!("features 1 to {last}"),
    };
    format!("{data} {found}, {others} {expected}: the others are taken as {taken_as}")
}

#[cfg(test)]
mod tests {
    use super::fewer_features;

    #[test]
    fn what_is_there_and_what_is_not_is_said() {
        let of = |found| fewer_features("a.txt has", found, "the training data have", 8, "0");
        assert_eq!(of(5), "a.txt has features 1 to 5, the training data have 8: the others are taken as 0");
        assert_eq!(of(1), "a.txt has feature 1 alone, the training data have 8: the others are taken as 0");
        assert_eq!(of(0), "a.txt has no features, the training data have 8: the others are taken as 0");
    }
}
