//! Short names of systems: for a path, the part that distinguishes it from the others.

use std::collections::BTreeSet;

/// The longest name. Systems with longer names are called by letters.
const LONGEST: usize = 24;

/// Returns the letters that identify a system. They run from A to Z, then continue with AA and so on.
pub(crate) fn letter(system: usize) -> String {
    let last = char::from(b'A' + (system % 26) as u8);
    match system / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letter(more - 1)),
    }
}

/// Returns a short name for each system: the name of its file or folder if the names are short and all differ,
/// otherwise a letter.
pub(crate) fn labels(systems: &[String]) -> Vec<String> {
    let levels: [fn(&str) -> String; 3] = [stem, |path| file(path).to_string(), str::to_string];
    let fit = |names: &Vec<String>| {
        let distinct: BTreeSet<&String> = names.iter().collect();
        distinct.len() == names.len() && names.iter().all(|name| (1..=LONGEST).contains(&name.chars().count()))
    };
    let named = levels.iter().map(|level| systems.iter().map(|system| level(system)).collect());
    named.into_iter().find(fit).unwrap_or_else(|| (0..systems.len()).map(letter).collect())
}

/// Returns the last part of a path. For the ranker of a run, it is the name of the run. The tag of a TREC run is left
/// out.
fn file(system: &str) -> &str {
    let tagged = system.strip_suffix(')').and_then(|system| system.rsplit_once(" ("));
    let path = tagged.map_or(system, |(path, _)| path).trim_end_matches(['/', '\\']);
    let is_named = |run: &&str| !run.trim_matches(['/', '\\', '.']).is_empty();
    let path = path.strip_suffix("ranker.safetensors").filter(is_named).unwrap_or(path);
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns the last part of a path without its ending, such as `.txt`.
fn stem(system: &str) -> String {
    let file = file(system);
    let is_ending = |ending: &str| (2..=11).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphabetic());
    match file.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_ending(ending) => stem.to_string(),
        _ => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labeled(systems: &[&str]) -> Vec<String> {
        labels(&systems.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn systems_have_letters() {
        assert_eq!([0, 1, 25, 26, 27, 52, 701, 702].map(letter), ["A", "B", "Z", "AA", "AB", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn systems_have_the_shortest_names_that_differ() {
        assert_eq!(
            labeled(&["runs/linear/ranker.safetensors", "runs/trees/", "a/theirs.txt"]),
            ["linear", "trees", "theirs"]
        );
        assert_eq!(labeled(&["x/bm25.run (tag)", "y/bm25.txt (other)"]), ["bm25.run", "bm25.txt"]);
        assert_eq!(labeled(&["cv/a", "cv/a.1", "./ranker.safetensors"]), ["a", "a.1", "ranker"]);
        assert_eq!(labeled(&["one/run", "two/run"]), ["one/run", "two/run"]);
        let long = "a-name-with-too-many-letters-for-a-table";
        assert_eq!(labeled(&[long, "b"]), ["A", "B"]);
        assert_eq!(labeled(&["a", "a"]), ["A", "B"]);
    }
}
