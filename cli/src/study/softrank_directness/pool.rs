//! Checks Theorem 1 on real data, where the optimal rankers are unknown. The study uses the best rankers among several
//! instead.
//!
//! `omega_1` is the ranker with the highest mean SoftNDCG. It is chosen among the rankers trained with SoftNDCG, if
//! there are any. `omega_2` is the ranker with the highest mean NDCG on the same queries. The theorem concerns the best
//! of all ranking functions. The rankers used here may not be the best ones. So a difference within the bound does not
//! prove the theorem, and a larger one does not refute it. The verdict is therefore `open`, or `vacuous` if the bound
//! is 1 or more.

use super::{largest_difference, soft, soft_ndcg};
use crate::number::short;
use crate::study::{Claim, Judged, Mean, ROUNDING, Result, RunSubject, Table, Verdict};

/// One of the rankers, with its SoftNDCG and NDCG for each query.
struct Member {
    name: String,
    trained_by_soft_ndcg: bool,
    soft: Vec<f64>,
    exact: Vec<f64>,
}

impl Member {
    fn largest_error(&self) -> f64 {
        largest_difference(&self.soft, &self.exact)
    }
}

/// Judges Theorem 1 for each sigma; `exact` holds the NDCG of each run's queries.
pub(super) fn judge(runs: &[RunSubject], exact: &[Vec<f64>], sigmas: &[f64]) -> Result<(Table, Vec<Claim>)> {
    let queries = runs.first().map_or(0, |run| run.subject.queries.len());
    let title = format!("Theorem 1, the best of {} rankers on the same {queries} test queries", runs.len());
    let columns = ["sigma", "NDCG at 1", "NDCG at 2", "difference", "e_1", "e_2", "2 e_1 + e_2"];
    let mut table = Table::new(title, columns);
    let mut claims = Vec::new();
    for &sigma in sigmas {
        let member = |(run, exact): (&'_ RunSubject, &Vec<f64>)| -> Result<Member> {
            Ok(Member {
                name: run.name.clone(),
                trained_by_soft_ndcg: run.loss.as_deref() == Some("soft_ndcg"),
                soft: soft(&run.subject, &soft_ndcg(sigma))?,
                exact: exact.clone(),
            })
        };
        let members = runs.iter().zip(exact).map(member).collect::<Result<Vec<_>, _>>()?;
        let Some((first, second)) = optima(&members) else { continue };
        let (e_1, e_2) = (first.largest_error(), second.largest_error());
        let [at_1, at_2] = [first, second].map(|member| Mean::of(&member.exact).mean);
        let difference = (at_1 - at_2).abs();
        let figures = [at_1, at_2, difference, e_1, e_2, 2.0 * e_1 + e_2];
        table.row(sigma.to_string(), figures.map(Some));
        let claim =
            format!("NDCG at the optima of SoftNDCG and of NDCG differs by at most 2 e_1 + e_2, sigma = {sigma}");
        claims.push(Claim::new("Theorem 1, the best of a pool", claim, judged(first, second)));
    }
    Ok((table, claims))
}

/// Returns the two rankers that stand in for the optimum of SoftNDCG and the optimum of NDCG.
fn optima(members: &[Member]) -> Option<(&Member, &Member)> {
    let all: Vec<&Member> = members.iter().collect();
    let trained: Vec<&Member> = members.iter().filter(|member| member.trained_by_soft_ndcg).collect();
    let pool = if trained.is_empty() { &all } else { &trained };
    Some((best(pool, |member| &member.soft)?, best(&all, |member| &member.exact)?))
}

/// Returns the ranker with the highest mean; ties go to the first.
fn best<'a>(pool: &[&'a Member], of: fn(&Member) -> &Vec<f64>) -> Option<&'a Member> {
    let mean = |member: &Member| Mean::of(of(member)).mean;
    pool.iter().copied().reduce(|best, other| if mean(other) > mean(best) { other } else { best })
}

fn judged(first: &Member, second: &Member) -> Judged {
    let bound = 2.0 * first.largest_error() + second.largest_error();
    let difference = (Mean::of(&first.exact).mean - Mean::of(&second.exact).mean).abs();
    let verdict = if bound >= 1.0 - ROUNDING { Verdict::Vacuous } else { Verdict::Open };
    let found = format!(
        "{} against {}: difference {}, bound {}; neither need be an optimum, so nothing more can be shown",
        first.name,
        second.name,
        short(difference),
        short(bound)
    );
    Judged::new(verdict, found).number("difference", difference).number("bound", bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, trained: bool, soft: &[f64], exact: &[f64]) -> Member {
        Member { name: name.to_string(), trained_by_soft_ndcg: trained, soft: soft.to_vec(), exact: exact.to_vec() }
    }

    #[test]
    fn nothing_is_shown_by_the_best_of_a_pool() {
        let soft = member("soft", true, &[0.5, 0.52], &[0.5, 0.5]);
        let other = member("other", false, &[0.6, 0.61], &[0.6, 0.6]);
        let rough = member("rough", true, &[0.1, 0.1], &[0.5, 0.5]);
        let pool = [rough, soft, other];
        let (first, second) = optima(&pool).unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("soft", "other"));
        // .1 apart where the bound is .05: an optimum would refute the theorem, the best of a pool does not.
        let found = judged(first, second);
        assert_eq!(found.verdict, Verdict::Open);
        assert!((found.numbers["difference"] - 0.1).abs() < 1e-12 && (found.numbers["bound"] - 0.05).abs() < 1e-12);
        assert_eq!(judged(&pool[0], &pool[0]).verdict, Verdict::Vacuous, "a bound of 1.2");
        let (first, _) = optima(&pool[2..]).unwrap();
        assert_eq!(first.name, "other", "where no ranker was trained by SoftNDCG");
    }
}
