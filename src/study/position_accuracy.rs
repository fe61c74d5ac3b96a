//! Compares approximate positions with ranks (approximation-framework, Table 1, Theorem 3 and Corollary 4).
//!
//! `p_x = 1 + sum_{y != x} 1 / (1 + exp(alpha (s_x - s_y)))` differs from the rank of `x` by less than
//! `(n - 1) / (exp(alpha delta_x) + 1)`, where `delta_x` is the smallest difference between its score and another.

use burn::tensor::{DType, Device, Tensor, TensorData};

use super::findings::{Bounded, Claim, Curves, Findings, Table, falls};
use super::{StudyEntry, StudyError, Subject};
use crate::loss::Lists;
use crate::op::Step;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "position-accuracy",
    summary: "how far approximate positions are from ranks, within the bound of Theorem 3",
    paper: "Qin, Liu and Li, A general approximation framework for direct optimization of IR measures, Table 1, Theorem 3, Corollary 4",
    parameter: "alpha",
    values: &[1.0, 10.0, 100.0, 1000.0],
    run,
};

/// Scores and approximate positions of Table 1, alpha = 100.
const TABLE_1: [(f64, f64); 5] =
    [(4.20074, 2.00118), (3.12378, 4.0), (4.40918, 1.0), (1.55258, 5.0), (4.13330, 2.99882)];

/// Returns approximate positions with the logistic step, and ranks.
pub(super) fn positions(scores: &[f64], alpha: f64) -> (Vec<f64>, Vec<f64>) {
    let device = Device::flex();
    let shape = [1, scores.len()];
    let tensor = Tensor::<2>::from_data(TensorData::new(scores.to_vec(), shape), (&device, DType::F64));
    let mask = Tensor::<2>::ones(shape, &device).greater_elem(0.0);
    let lists = Lists::new(tensor.clone(), tensor.zeros_like(), mask);
    let values = |tensor: Tensor<2>| tensor.into_data().iter::<f64>().collect();
    (values(lists.approximate_positions(alpha, Step::Logistic)), values(lists.ranks()))
}

/// Returns `epsilon` of Corollary 4: the largest error of a position.
pub(super) fn largest_error(scores: &[f64], alpha: f64) -> f64 {
    let (approximate, ranks) = positions(scores, alpha);
    approximate.iter().zip(&ranks).map(|(position, rank)| (position - rank).abs()).fold(0.0, f64::max)
}

fn run(subject: &Subject, alphas: &[f64]) -> Result<Findings, StudyError> {
    let of_alpha: Vec<Bounded> = alphas.iter().map(|&alpha| errors(subject, alpha)).collect();
    let mean: Vec<Option<f64>> = of_alpha.iter().map(Bounded::mean).collect();
    let largest: Vec<Option<f64>> = of_alpha.iter().map(Bounded::largest).collect();
    let rows = alphas.iter().zip(&mean).zip(&largest);
    let rows = rows.map(|((alpha, mean), largest)| (alpha.to_string(), vec![*mean, *largest])).collect();
    let bound = Bounded::claim(
        &of_alpha,
        "Theorem 3",
        "each position is off by less than (n - 1) / (exp(alpha delta) + 1)",
        "positions of scores that differ",
    );
    Ok(Findings {
        tables: vec![
            Table {
                title: "error of positions, over documents".to_string(),
                columns: ["alpha", "mean", "largest"].map(str::to_string).to_vec(),
                rows,
            },
            table_1(),
        ],
        curves: vec![Curves {
            title: "error of positions".to_string(),
            parameter: "alpha".to_string(),
            at: alphas.to_vec(),
            curves: vec![("mean".to_string(), mean.clone()), ("largest".to_string(), largest)],
        }],
        claims: [bound, falls(&mean, "section 5.1", "the larger alpha, the closer positions are to ranks")]
            .into_iter()
            .chain(worked_example())
            .collect(),
    })
}

fn errors(subject: &Subject, alpha: f64) -> Bounded {
    let mut found = Bounded::default();
    for query in &subject.queries {
        let (approximate, ranks) = positions(&query.scores, alpha);
        for (x, score) in query.scores.iter().enumerate() {
            let others = query.scores.iter().enumerate().filter(|(y, _)| *y != x);
            let delta = others.map(|(_, other)| (score - other).abs()).fold(f64::INFINITY, f64::min);
            let bound = (query.scores.len() - 1) as f64 / ((alpha * delta).exp() + 1.0);
            found.add((approximate[x] - ranks[x]).abs(), (delta > 0.0).then_some(bound));
        }
    }
    found
}

fn example() -> Vec<f64> {
    TABLE_1.iter().map(|(score, _)| *score).collect()
}

fn table_1() -> Table {
    let (approximate, ranks) = positions(&example(), 100.0);
    let row = |(x, (score, published)): (usize, &(f64, f64))| {
        (format!("x{}", x + 1), vec![Some(*score), Some(ranks[x]), Some(approximate[x]), Some(*published)])
    };
    Table {
        title: "Table 1 of the paper, alpha = 100".to_string(),
        columns: ["document", "score", "rank", "position", "published"].map(str::to_string).to_vec(),
        rows: TABLE_1.iter().enumerate().map(row).collect(),
    }
}

/// Checks the numbers that the paper works out for Table 1.
fn worked_example() -> Vec<Claim> {
    let (approximate, _) = positions(&example(), 100.0);
    let off = approximate.iter().zip(&TABLE_1).map(|(found, (_, published))| (found - published).abs());
    let off = off.fold(0.0, f64::max);
    let epsilon = largest_error(&example(), 100.0);
    let bound = 4.0 / ((0.06744f64 * 100.0).exp() + 1.0);
    let ndcg = epsilon / (2.0 * std::f64::consts::LN_2);
    let close = |found: f64, published: f64, digits: i32| (found - published).abs() < 0.5 * 10f64.powi(-digits) + 1e-12;
    let claim = |source: &str, claim: &str, found: String, holds: bool| Claim {
        source: source.to_string(),
        claim: claim.to_string(),
        found,
        holds: Some(holds),
    };
    vec![
        claim("Table 1", "positions to five decimals", format!("off by {off:.1e} at most"), off < 0.6e-5),
        claim(
            "Corollary 4",
            "epsilon = 0.00118 < 0.00471 for Table 1",
            format!("{epsilon:.5} < {bound:.5}"),
            close(epsilon, 0.00118, 5) && close(bound, 0.00471, 5) && epsilon < bound,
        ),
        claim("Theorem 6", "epsilon / (2 ln 2) = 0.00085 for Table 1", format!("{ndcg:.5}"), close(ndcg, 0.00085, 5)),
    ]
}
