//! The means of a comparison as a table for a paper, in LaTeX, and short names of systems: for a path, the part that
//! distinguishes it from the others.

use std::collections::BTreeSet;

use burn_rank::workbench::text::counted;

use super::{ComparisonReport, Verdict};

/// Builds the table. The best mean of each measure is bold, and a dagger marks the systems that the test does not
/// distinguish from the best one.
pub(crate) fn latex_table(report: &ComparisonReport) -> String {
    let labels = labels(&report.systems);
    let verdicts: Vec<Verdict> = report.measures.iter().map(|of| report.verdict(of, &labels)).collect();
    let measures: Vec<String> = report.measures.iter().map(|of| escaped(&of.measure.to_string())).collect();
    let row = |(system, name): (usize, &String)| {
        let cells = report.measures.iter().zip(&verdicts).map(|(of, verdict)| {
            let means = of.means();
            let mean = means[system].map_or("--".to_string(), |mean| format!("{mean:.4}"));
            let highest = means.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            if means[system] == Some(highest) {
                format!("\\textbf{{{mean}}}")
            } else if verdict.not_distinguished.contains(&system) {
                format!("{mean}$^\\dagger$")
            } else {
                mean
            }
        });
        format!("{} & {} \\\\\n", escaped(name), cells.collect::<Vec<_>>().join(" & "))
    };
    let rows: String = labels.iter().enumerate().map(row).collect();
    let test = if labels.len() > 2 { "Tukey's HSD" } else { "randomization test" };
    let level = (1.0 - report.config.confidence) * 100.0;
    format!(
        "% {} ({} empty), convention {}. Needs the package booktabs.\n% Bold: the highest mean. Dagger: not distinguished \
         from it ({test}, level {level:.3}\\%).\n\\begin{{tabular}}{{l{}}}\n\\toprule\n & {} \\\\\n\\midrule\n{rows}\\bottomrule\n\
         \\end{{tabular}}\n",
        counted(report.queries, "query"),
        report.empty_queries,
        report.convention.name,
        "r".repeat(measures.len()),
        measures.join(" & ")
    )
}

/// Escapes the characters that LaTeX would act on.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '\\' => escaped += "\\textbackslash{}",
            '~' => escaped += "\\textasciitilde{}",
            '^' => escaped += "\\textasciicircum{}",
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

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
    use super::{escaped, *};

    #[test]
    fn names_are_text_in_latex() {
        assert_eq!(escaped("a_b & 5% \\x{^}\n"), "a\\_b \\& 5\\% \\textbackslash{}x\\{\\textasciicircum{}\\} ");
    }

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
