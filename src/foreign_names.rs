//! Names that other tools for ranking use, each with the name that burn-rank uses for the same thing. Messages about an
//! unknown name suggest it.
//!
//! The names come from LightGBM, XGBoost, CatBoost, RankLib, Keras, PyTorch, sentence-transformers, allRank and
//! TF-Ranking.

/// Returns the rows of the table: names here, and names of other tools, in small letters and without separators. The
/// first name here that is valid in the same place is suggested. Lines with `#` are comments.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("foreign_names.txt").lines().filter_map(|line| line.split_once(": "))
}

/// Returns a name in small letters and without separators.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ':' | '.' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Returns the names here for a name of another tool, the likeliest first; none if the name is not in the table.
pub fn ours(name: &str) -> impl Iterator<Item = &'static str> {
    let name = plain(name);
    let those = rows().filter(move |(_, foreign)| foreign.split(' ').any(|one| one == name));
    those.flat_map(|(ours, _)| ours.split(' '))
}

#[cfg(test)]
#[cfg(feature = "learners")]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::learner::registry::LEARNERS;
    use crate::loss::registry::LOSSES;
    use crate::workbench::CONFIGURATION;

    #[test]
    fn every_name_is_written_plainly_and_stands_once() {
        let mut seen = HashSet::new();
        for name in rows().flat_map(|(_, foreign)| foreign.split(' ')) {
            assert_eq!(plain(name), name);
            assert!(seen.insert(name), "{name}");
        }
        let lines = include_str!("foreign_names.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(rows().count(), lines.count());
    }

    /// Returns the position of the row with a name of another tool.
    fn position(name: &str) -> usize {
        rows().position(|(_, foreign)| foreign.split(' ').any(|one| one == name)).unwrap()
    }

    #[test]
    fn every_suggested_name_of_a_loss_or_a_learner_is_registered() {
        let losses = LOSSES.iter().map(|entry| entry.name);
        let known: HashSet<&str> = losses.chain(LEARNERS.iter().map(|entry| entry.name)).collect();
        let (first, end) = (position("lambdamart"), position("transformer"));
        for name in rows().skip(first).take(end - first).flat_map(|(ours, _)| ours.split(' ')) {
            assert!(known.contains(name) || ["mlp", "lightgbm", "xgboost"].contains(&name), "{name}");
        }
    }

    #[test]
    fn every_suggested_key_of_a_learner_is_on_the_page() {
        for name in rows().take(position("optim") + 1).flat_map(|(ours, _)| ours.split(' ')) {
            let row = format!("| `{name}` |");
            assert!(CONFIGURATION.iter().any(|page| page.contains(&row)), "{name}");
        }
    }
}
