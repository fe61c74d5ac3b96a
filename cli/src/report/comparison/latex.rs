//! The means of a comparison as a table for a paper, in LaTeX.

use burn_rank::workbench::text::counted;

use super::{ComparisonReport, Verdict, labels};

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

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_are_text_in_latex() {
        assert_eq!(escaped("a_b & 5% \\x{^}\n"), "a\\_b \\& 5\\% \\textbackslash{}x\\{\\textasciicircum{}\\} ");
    }
}
