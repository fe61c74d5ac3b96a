//! Checks Theorem 7 for a small class of ranking functions: each feature, in ascending and in descending order.
//!
//! Let `M` be the mean of a measure over the test queries, which represent all queries. Let `M_m` be the mean of this
//! measure over the training queries, and `S_m` the mean of its surrogate over the same queries. The function with the
//! largest `S_m` need not have the largest `M`. By the theorem, its `M` is smaller by at most
//! `2 sup |M - M_m| + 2 sup |M_m - S_m|`. All functions of the class are tried, so both suprema and both optima are
//! known.

use crate::study::*;

/// The number of training queries, in a full study and in a quick one.
const QUERIES: [usize; 2] = [40, 8];
/// The beta in ApproxAP, as in Figure 1.
const BETA: f64 = 10.0;

/// The means of the measures and the mean of the surrogate for one ranking function.
#[derive(Debug, Clone, Copy)]
struct Means {
    test: f64,
    train: f64,
    surrogate: f64,
}

/// Checks Theorem 7, and adds the result to the findings.
pub(super) fn extend(findings: &mut Findings, setting: &Setting, alphas: &[f64]) -> Result {
    let material = Material::of(setting)?;
    let surrogates = [
        ("ApproxAP", "MAP", Measure::Ap(None), LossSpec::new("approx_ap").with("beta", BETA)),
        ("ApproxNDCG", "NDCG", Measure::Ndcg(None), LossSpec::new("approx_ndcg")),
    ];
    if material.split.test.is_none() {
        let judged = Judged::new(Verdict::Open, "there are no queries to test on");
        findings.claims.push(Claim::new("Theorem 7", "the optimum of the surrogate is near the best", judged));
        return Ok(());
    }
    let train = material.linear(&material.split.train, QUERIES[usize::from(setting.quick)])?;
    let test = material.linear(material.test()?, usize::MAX)?;
    let columns = ["alpha", "at the optimum of the surrogate", "best", "difference", "sup 1", "sup 2", "bound"];
    for (name, measure_name, measure, spec) in surrogates {
        let title = format!(
            "Theorem 7: test {measure_name} of single features, {name} on {} training queries and {} to test on",
            train.queries.len(),
            test.queries.len()
        );
        let mut table = Table::new(title, columns);
        let exact = exact(&train, &test, measure)?;
        let with_surrogate = |alpha| with_surrogate(&exact, &train, &spec.with("alpha", alpha));
        let of_alphas = setting.each(&format!("Theorem 7, {name}, alpha"), alphas, with_surrogate)?;
        for (alpha, functions) in alphas.iter().zip(of_alphas) {
            let chosen = optimum(&functions, |means| means.surrogate);
            let best = optimum(&functions, |means| means.test);
            let [first, second] = suprema(&functions);
            let [at_chosen, at_best] = [chosen, best].map(|function| functions[function].test);
            let bound = 2.0 * (first + second);
            let figures = [at_chosen, at_best, (at_chosen - at_best).abs(), first, second, bound];
            table.row(alpha.to_string(), figures.map(Some));
            let claim = format!(
                "test {measure_name} at the optimum of {name} is within 2 sup |M - M_m| + 2 sup |M_m - S_m| of the best, \
                 alpha = {alpha}"
            );
            findings.claims.push(Claim::new("Theorem 7", claim, judged(&functions, chosen)));
        }
        findings.tables.push(table);
    }
    Ok(())
}

/// Returns the weights of each ranking function in the class.
fn class(features: usize) -> impl Iterator<Item = Vec<f64>> {
    (0..features).flat_map(move |feature| {
        [1.0, -1.0].map(|sign| (0..features).map(|of| if of == feature { sign } else { 0.0 }).collect())
    })
}

fn exact(train: &Linear, test: &Linear, measure: Measure) -> Result<Vec<Means>> {
    let of = |weights: Vec<f64>| {
        let [test, train] = [test, train].map(|linear| linear.scored(&weights).measured(measure));
        Ok(Means { test: mean(&test?), train: mean(&train?), surrogate: f64::NAN })
    };
    class(train.features()).map(of).collect()
}

fn with_surrogate(exact: &[Means], train: &Linear, spec: &LossSpec) -> Result<Vec<Means>> {
    let of = |(means, weights): (&Means, Vec<f64>)| {
        Ok(Means { surrogate: mean(&train.scored(&weights).surrogates(spec)?), ..*means })
    };
    exact.iter().zip(class(train.features())).map(of).collect()
}

/// Returns the index of the function with the largest value; ties go to the first.
fn optimum(functions: &[Means], of: fn(&Means) -> f64) -> usize {
    (1..functions.len()).fold(0, |best, at| if of(&functions[at]) > of(&functions[best]) { at } else { best })
}

/// Returns the largest `|M - M_m|` and the largest `|M_m - S_m|` over all ranking functions.
fn suprema(functions: &[Means]) -> [f64; 2] {
    let largest = |of: fn(&Means) -> f64| functions.iter().map(of).fold(0.0, f64::max);
    [largest(|means| (means.test - means.train).abs()), largest(|means| (means.train - means.surrogate).abs())]
}

/// Checks that the function `chosen` falls short of the best function's measure by at most the theorem's bound.
fn judged(functions: &[Means], chosen: usize) -> Judged {
    let [first, second] = suprema(functions);
    let best = optimum(functions, |means| means.test);
    let (difference, bound) = (functions[best].test - functions[chosen].test, 2.0 * (first + second));
    let found = Bounded::of([(difference, Some(bound))], 1.0);
    Bounded::judge([&found], "class of ranking functions").number("difference", difference).number("bound", bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(values: &[[f64; 3]]) -> Vec<Means> {
        values
            .iter()
            .map(|[test, train, surrogate]| Means { test: *test, train: *train, surrogate: *surrogate })
            .collect()
    }

    #[test]
    fn the_verdict_follows_the_means() {
        let accurate = means(&[[0.50, 0.52, 0.53], [0.51, 0.51, 0.51], [0.2, 0.21, 0.2]]);
        let chosen = optimum(&accurate, |means| means.surrogate);
        assert_eq!(chosen, 0);
        assert_eq!(judged(&accurate, chosen).verdict, Verdict::Holds);
        // The theorem is about the optimum of the surrogate: any other function may be farther away.
        assert_eq!(judged(&accurate, 2).verdict, Verdict::Fails);
        let rough = means(&[[0.5, 0.5, 0.9], [0.6, 0.5, 0.0]]);
        assert_eq!(judged(&rough, 0).verdict, Verdict::Vacuous, "a bound of 1.2");
    }

    #[test]
    fn the_class_is_each_feature_in_both_directions() {
        let all: Vec<Vec<f64>> = class(2).collect();
        assert_eq!(all, [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]);
    }
}
