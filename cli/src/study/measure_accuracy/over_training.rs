//! How `rho` changes during training (Figures 1 to 3). After each epoch, `rho` is the mean error of the surrogate over
//! the training queries. Linear rankers are trained on the surrogate itself, with one query per step.

use crate::study::*;

/// The number of training queries and the number of epochs, in a full study and in a quick one.
const SIZES: [(usize, usize); 2] = [(40, 10), (8, 3)];
/// The learning rate, as in the paper.
const RATE: f64 = 0.01;
/// The value of beta in all training runs of Figure 1.
const BETA: f64 = 10.0;
/// The value of alpha in all training runs of Figure 2.
const ALPHA: f64 = 100.0;

/// The errors of the surrogate while one linear ranker is trained.
struct Path {
    /// The parameter's name and value.
    name: String,
    /// The mean error over queries, before the first epoch and after each one.
    rho: Vec<f64>,
    /// The error for each query, averaged over epochs.
    queries: Vec<f64>,
}

/// A figure of the paper: its name, its parameter, the surrogate and its measure, the parameter's values, and the loss
/// at one of them.
type Figure<'a> = (&'a str, &'a str, String, Measure, &'a [f64], &'a dyn Fn(f64) -> LossSpec);

/// Trains the rankers, and adds the errors during training to the findings.
pub(super) fn extend(findings: &mut Findings, setting: &Setting, alphas: &[f64], betas: &[f64]) -> Result {
    let (queries, epochs) = SIZES[usize::from(setting.quick)];
    let material = Material::of(setting)?;
    let linear = material.linear(&material.split.train, queries)?;
    let ap = |alpha: f64, beta: f64| LossSpec::new("approx_ap").with("alpha", alpha).with("beta", beta);
    let ndcg = |alpha: f64| LossSpec::new("approx_ndcg").with("alpha", alpha);
    let figures: [Figure; 3] = [
        ("Figure 1", "alpha", format!("ApproxAP, beta = {BETA}"), Measure::Ap(None), alphas, &|alpha| ap(alpha, BETA)),
        ("Figure 2", "beta", format!("ApproxAP, alpha = {ALPHA}"), Measure::Ap(None), betas, &|beta| ap(ALPHA, beta)),
        ("Figure 3", "alpha", "ApproxNDCG".to_string(), Measure::Ndcg(None), alphas, &ndcg),
    ];
    let at: Vec<f64> = (0..=epochs).map(|epoch| epoch as f64).collect();
    let all: usize = figures.iter().map(|(.., values, _)| values.len()).sum();
    let mut done = 0;
    for (figure, parameter, what, measure, values, loss) in figures {
        let mut paths = Vec::new();
        for &value in values {
            let name = format!("{parameter} = {value}");
            setting.step(&format!("{figure}, {name}"), done, all);
            done += 1;
            paths.push(train(&linear, name, &loss(value), measure, epochs)?);
        }
        let title = format!("{figure}: rho of {what}, training on {} queries", linear.queries.len());
        let columns = ["epoch"].into_iter().chain(paths.iter().map(|path| path.name.as_str()));
        let row = |epoch: usize| (epoch.to_string(), paths.iter().map(move |path| Some(path.rho[epoch])));
        findings.tables.push(Table::new(title.as_str(), columns).with((0..=epochs).map(row)));
        let curves = Curves::new(title, "epoch", &at, [Scale::Linear, Scale::Log]);
        let with = |curves: Curves, path: &Path| curves.curve(path.name.as_str(), path.rho.iter().copied().map(Some));
        findings.curves.push(paths.iter().fold(curves, with));
        let claim = format!("over training, the larger {parameter}, the smaller rho of {what}");
        findings.claims.push(Claim::new(figure, claim, judged(&paths)));
    }
    Ok(())
}

/// Trains a linear ranker, starting from zero weights, and records the surrogate's errors after each epoch. At first
/// all scores are equal, so the exact measure is a mean over orders.
fn train(linear: &Linear, name: String, loss: &LossSpec, measure: Measure, epochs: usize) -> Result<Path> {
    let mut weights = vec![0.0; linear.features()];
    let mut path = Path { name, rho: Vec::new(), queries: vec![0.0; linear.queries.len()] };
    for epoch in 0..=epochs {
        if epoch > 0 {
            linear.epoch(&mut weights, loss, RATE)?;
        }
        let subject = linear.scored(&weights);
        let both = subject.surrogates(loss)?.into_iter().zip(subject.measured(measure)?);
        let errors: Vec<f64> = both.map(|(soft, exact)| (soft - exact).abs()).collect();
        path.rho.push(mean(&errors));
        // The figures show the epochs after the first.
        if epoch > 0 {
            path.queries.iter_mut().zip(&errors).for_each(|(sum, error)| *sum += error / epochs as f64);
        }
    }
    Ok(path)
}

fn judged(paths: &[Path]) -> Judged {
    falls(paths.iter().map(|path| (path.name.clone(), &path.queries)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::training::LinearQuery;

    /// Returns queries with a single feature that sorts their documents correctly. Training increases the weight of
    /// this feature, so the differences of scores grow.
    fn linear() -> Linear {
        let query = |shift: f64| LinearQuery {
            features: [0.9, 0.2, -0.3, -0.8].map(|x| vec![x + shift]).to_vec(),
            labels: vec![1.0, 1.0, 0.0, 0.0],
        };
        Linear { queries: [0.0, 0.01, 0.03, -0.02].map(query).to_vec() }
    }

    #[test]
    fn training_follows_the_surrogate_and_a_larger_alpha_is_closer() {
        let of = |alpha: f64| {
            let loss = LossSpec::new("approx_ndcg").with("alpha", alpha);
            train(&linear(), alpha.to_string(), &loss, Measure::Ndcg(None), 5).unwrap()
        };
        let (soft, sharp) = (of(5.0), of(50.0));
        assert_eq!(soft.rho.len(), 6);
        assert_eq!(soft.rho[0], sharp.rho[0], "at weights 0 alpha does not matter");
        assert!(sharp.rho[5] < sharp.rho[0], "training pulls scores apart: {:?}", sharp.rho);
        let verdict = |paths: [Path; 2]| judged(&paths).verdict;
        assert_eq!(verdict([soft, sharp]), Verdict::Holds);
        assert_eq!(verdict([of(50.0), of(5.0)]), Verdict::Fails);
        assert_eq!(verdict([of(50.0), of(50.0)]), Verdict::Open);
    }
}
