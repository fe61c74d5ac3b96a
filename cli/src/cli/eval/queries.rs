//! `eval --queries` shows the worst and best queries with their documents in ranked order.

use std::io::Write;
use std::str::FromStr;

use burn_rank::refusal::Refusal;
use burn_rank::workbench::text::{did_you_mean, harmless, nearest};

use crate::cli::Result;
use crate::experiment::{ExtremeQueries, RankedQuery};
use crate::report::ranking_table;

/// The largest number of worst or best queries that may be requested.
const MOST: usize = 1000;

/// How many of the worst queries, and of the best queries, to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct QueriesAsked {
    pub(super) worst: usize,
    pub(super) best: usize,
}

impl FromStr for QueriesAsked {
    type Err = Refusal;

    /// Reads `worst:10`, `best:5`, or both, separated by commas.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let mut asked = Self::default();
        for part in text.split(',').map(str::trim) {
            let (end, count) = part.split_once(':').unwrap_or((part, ""));
            let place = match end {
                "worst" => &mut asked.worst,
                "best" => &mut asked.best,
                _ => {
                    let near = did_you_mean(&nearest(end, ["worst", "best"]));
                    let expected = format!("worst:N, best:N, or both, separated by a comma{near}");
                    return Err(Refusal::new("", format!("`{part}`"), expected));
                }
            };
            match count.parse() {
                Ok(count) if (1..=MOST).contains(&count) => *place = count,
                _ => return Err(Refusal::new("", format!("`{part}`"), format!("{end}:N with N from 1 to {MOST}"))),
            }
        }
        Ok(asked)
    }
}

/// Prints each of the queries as a table.
pub(super) fn print(extremes: &ExtremeQueries, out: &mut dyn Write) -> Result {
    for (end, queries) in [("worst", &extremes.worst), ("best", &extremes.best)] {
        for (at, query) in queries.iter().enumerate() {
            let RankedQuery { query: name, value, documents, shown } = query;
            let measure = &extremes.measure;
            writeln!(out, "\n{end} {} of {}: query {}, {measure} {value:.4}", at + 1, queries.len(), harmless(name))?;
            write!(out, "{}", ranking_table(query).text())?;
            if shown.len() < *documents {
                writeln!(out, "of {documents} documents {}", ExtremeQueries::SHOWN)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_read_with_their_numbers() {
        let asked = |text: &str| text.parse::<QueriesAsked>().map_err(|refusal| refusal.message());
        assert_eq!(asked("worst:10, best:2"), Ok(QueriesAsked { worst: 10, best: 2 }));
        assert_eq!(asked("best:1"), Ok(QueriesAsked { worst: 0, best: 1 }));
        assert_eq!(asked("worst"), Err("found `worst`, expected worst:N with N from 1 to 1000".to_string()));
        assert_eq!(asked("worst:0"), Err("found `worst:0`, expected worst:N with N from 1 to 1000".to_string()));
        let near = "found `wrst:3`, expected worst:N, best:N, or both, separated by a comma; did you mean `worst`?";
        assert_eq!(asked("wrst:3"), Err(near.to_string()));
    }
}
