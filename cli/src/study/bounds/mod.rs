//! Two kinds of upper bounds on the loss `1 - E`, type one and type two (direct-optimization, Figures 3 and 4, Theorems
//! 2 and 3).
//!
//! Relevant and irrelevant documents are drawn from Gaussians around `(1, 1)` and `(-1, -1)`. The linear function with
//! the weights `norm (cos theta, sin theta)` scores these documents. For an order, `F` is a sum over all pairs of
//! documents, divided by `n (n - 1)`. Each pair contributes the upper score minus the lower score. `E` is average
//! precision. The study computes two exponential bounds:
//!
//! * The type one bound is `exp(-E(sigma))`, where `sigma` is the order of the scores.
//! * The type two bound is the largest `(1 - E(pi)) exp(-(F(pi*) - F(pi)))` over perfect orders `pi*` and imperfect
//!   orders `pi`. The type two bound is computed exactly without visiting all `n!` orders (`type_two.rs`).
//!
//! Theorem 3 says that the type two bound is at most the type one bound if every `F(pi*) - F(pi)` is at least
//! `E(sigma)`. The differences of `F` are proportional to the norm of the weights. The order of the scores does not
//! depend on the norm. If every perfect order has a larger `F` than every imperfect order, the theorem's condition
//! holds for all sufficiently large norms. Otherwise it never holds.

mod type_two;

use self::type_two::{Orders, TypeTwo};
use super::*;

pub(super) const ENTRY: StudyEntry = StudyEntry {
    name: "bounds",
    summary: "type one and type two bounds around the circle of linear rankers, and when type two is tighter",
    paper: "Xu et al., Direct optimization of evaluation measures in learning to rank, Figures 3 and 4, Theorems 2 and 3",
    parameters: &[
        Parameter { name: "norm", values: &[1.0, 3.0, 10.0, 30.0, 100.0], domain: Domain::Positive },
        Parameter { name: "angles", values: &[360.0], domain: Domain::Whole(8, 3600) },
    ],
    // The data are the paper's own, whatever else is examined.
    takes: &[GENERATED, RUNS],
    run,
};

const RELEVANT: usize = 7;
const IRRELEVANT: usize = 14;
/// The number of angles `theta` in a quick study.
const QUICK: usize = 24;
/// The variances of the two features in the data sets of the paper's figures.
const DATA_SETS: [(&str, (f64, f64)); 2] = [("Figure 3", (0.2, 0.2)), ("Figure 4", (0.2, 1.3))];

/// Relevant and irrelevant documents, as points with two features.
#[derive(Debug, Clone)]
struct Plane {
    relevant: Vec<(f64, f64)>,
    irrelevant: Vec<(f64, f64)>,
}

impl Plane {
    fn generated(variances: (f64, f64), seed: u64, number: usize) -> Self {
        let mut random = random(seed, "bounds", number);
        // Box and Muller.
        let mut normal = || {
            let (radius, angle): (f64, f64) = (1.0 - random.random::<f64>(), random.random());
            (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
        };
        let mut around = |center: f64| (center + variances.0.sqrt() * normal(), center + variances.1.sqrt() * normal());
        let relevant = (0..RELEVANT).map(|_| around(1.0)).collect();
        Self { relevant, irrelevant: (0..IRRELEVANT).map(|_| around(-1.0)).collect() }
    }

    /// Returns the scores of the relevant documents, then the scores of the irrelevant documents, at the angle `theta`
    /// and with norm 1.
    fn scores(&self, theta: f64) -> (Vec<f64>, Vec<f64>) {
        let score = |of: &[(f64, f64)]| of.iter().map(|(x, y)| x * theta.cos() + y * theta.sin()).collect();
        (score(&self.relevant), score(&self.irrelevant))
    }
}

/// The type one and type two bounds for the weights at one angle.
#[derive(Debug, Clone)]
struct AtAngle {
    theta: f64,
    /// The precision, the gap and the loss over all orders of the documents, and the type two bound at each norm.
    orders: TypeTwo,
}

impl AtAngle {
    fn new(plane: &Plane, theta: f64, orders: &Orders, norms: &[f64]) -> Self {
        let (relevant, irrelevant) = plane.scores(theta);
        Self { theta, orders: orders.examine(&relevant, &irrelevant, norms) }
    }

    fn type_one(&self) -> f64 {
        (-self.orders.precision).exp()
    }

    fn type_two(&self, norm: usize) -> f64 {
        self.orders.exponential[norm]
    }

    /// Returns whether the condition of Theorem 3 holds at a norm.
    fn is_covered(&self, norm: f64) -> bool {
        norm * self.orders.gap >= self.orders.precision
    }

    /// Returns the smallest norm at which the condition of Theorem 3 holds, or `None` if it never holds.
    fn norm(&self) -> Option<f64> {
        (self.orders.gap > 0.0).then(|| self.orders.precision / self.orders.gap)
    }
}

fn run(setting: &Setting) -> Result<Findings> {
    let seed = setting.source.seed();
    let norms = setting.values("norm");
    let angles = setting.values("angles").last().copied().unwrap_or(8.0) as usize;
    let angles = if setting.quick { angles.min(QUICK) } else { angles };
    let orders = Orders::new(RELEVANT, IRRELEVANT);
    let documents = format!("{RELEVANT} relevant and {IRRELEVANT} irrelevant documents");
    let about = About::text(format!("two generated data sets of {documents}, seed {seed}"));
    let mut findings = Findings { about, ..Findings::default() };
    for (number, (figure, variances)) in DATA_SETS.into_iter().enumerate() {
        let plane = Plane::generated(variances, seed, number);
        let mut around = Vec::new();
        for angle in 0..angles {
            if angle % 10 == 0 {
                setting.step(figure, number * angles + angle, DATA_SETS.len() * angles);
            }
            let theta = std::f64::consts::TAU * angle as f64 / angles as f64;
            around.push(AtAngle::new(&plane, theta, &orders, norms));
        }
        let diagonal = AtAngle::new(&plane, std::f64::consts::FRAC_PI_4, &orders, norms);
        let of = DataSet { figure, variances, around, diagonal };
        findings.tables.push(of.table(norms));
        findings.curves.push(of.curves(norms));
        findings.claims.extend(of.claims(norms, orders.largest_loss()));
    }
    Ok(findings)
}

/// The bounds for one data set, at all angles.
struct DataSet {
    figure: &'static str,
    variances: (f64, f64),
    around: Vec<AtAngle>,
    /// The bounds at the angle `pi / 4`.
    diagonal: AtAngle,
}

impl DataSet {
    fn table(&self, norms: &[f64]) -> Table {
        let (x, y) = self.variances;
        let title = format!("{}, variances {x} and {y}, {} angles", self.figure, self.around.len());
        let columns = [
            "norm",
            "type one at pi/4",
            "type two at pi/4",
            "least type two",
            "at theta",
            "condition holds",
            "type two is tighter",
        ];
        let row = |(at, norm): (usize, &f64)| {
            let least = self.least(|of| of.type_two(at));
            let covered = self.around.iter().filter(|of| of.is_covered(*norm)).count() as f64;
            let tighter = self.around.iter().filter(|of| of.type_two(at) < of.type_one()).count() as f64;
            let (one, two) = (self.diagonal.type_one(), self.diagonal.type_two(at));
            (norm.to_string(), [one, two, least.type_two(at), least.theta, covered, tighter].map(Some))
        };
        Table::new(title, columns).with(norms.iter().enumerate().map(row))
    }

    fn curves(&self, norms: &[f64]) -> Curves {
        let thetas: Vec<f64> = self.around.iter().map(|of| of.theta).collect();
        let title = format!("{}: exponential bounds by angle, norm {}", self.figure, short(norms[0]));
        let all = |figure: fn(&AtAngle) -> f64| self.around.iter().map(move |of| Some(figure(of)));
        Curves::new(title, "theta", &thetas, [Scale::Linear; 2])
            .curve("type one", all(AtAngle::type_one))
            .curve("type two", all(|of| of.type_two(0)))
            .curve("1 - E", all(|of| 1.0 - of.orders.precision))
    }

    /// Returns the angle with the least bound; there are at least eight angles.
    fn least(&self, bound: impl Fn(&AtAngle) -> f64) -> &AtAngle {
        let least = self.around.iter().min_by(|left, right| bound(left).total_cmp(&bound(right)));
        least.expect("angles")
    }

    fn claims(&self, norms: &[f64], largest_loss: f64) -> Vec<Claim> {
        let (figure, norm) = (self.figure, short(norms[0]));
        let claim = |source: &str, claim: &str, judged| Claim::new(format!("{source} ({figure})"), claim, judged);
        let tighter = Judged::less(("type two", self.diagonal.type_two(0)), ("type one", self.diagonal.type_one()));
        let (one, two) = (self.least_at_diagonal(AtAngle::type_one), self.least_at_diagonal(|of| of.type_two(0)));
        let (theorem_2, section_4_1) =
            (self.within(|of| of.orders.loss, largest_loss), self.within(AtAngle::type_one, 1.0));
        let mut claims = vec![
            claim("Theorem 2", "1 - E(sigma) is at most the loss (6), at every angle", theorem_2),
            claim("section 4.1", "1 - E(sigma) is at most exp(-E(sigma)), at every angle", section_4_1),
            claim("section 4.3", "the type one bound is least at pi/4", one),
            claim("section 4.3", &format!("the type two bound is least at pi/4, norm {norm}"), two),
            claim("section 4.3", &format!("at pi/4 type two is tighter than type one, norm {norm}"), tighter),
        ];
        let from = match self.diagonal.norm() {
            Some(norm) => format!("at pi/4 the condition holds from the norm {} on", short(norm)),
            None => "at pi/4 the condition holds at no norm".to_string(),
        };
        for (at, norm) in norms.iter().enumerate() {
            let mut judged = self.theorem_3(at, *norm);
            judged.found = format!("{}; {from}", judged.found);
            if let Some(norm) = self.diagonal.norm() {
                judged = judged.number("norm at pi/4", norm);
            }
            let what = format!("type two <= type one where the condition holds, norm {}", short(*norm));
            claims.push(claim("Theorem 3", &what, judged));
        }
        claims
    }

    /// Judges whether the loss `1 - E(sigma)`, which is at most `most`, is within a bound at every angle.
    fn within(&self, bound: fn(&AtAngle) -> f64, most: f64) -> Judged {
        let errors = self.around.iter().map(|of| (1.0 - of.orders.precision, Some(bound(of))));
        Bounded::judge([&Bounded::of(errors, most)], "angles")
    }

    /// Judges whether the bound is smallest at the angle `pi / 4`, as the paper finds.
    fn least_at_diagonal(&self, bound: fn(&AtAngle) -> f64) -> Judged {
        let at = bound(&self.diagonal);
        let least = self.least(bound);
        let largest = self.around.iter().map(bound).fold(f64::NEG_INFINITY, f64::max);
        let verdict = match () {
            () if bound(least) < at - ROUNDING => Verdict::Fails,
            () if largest > at + ROUNDING => Verdict::Holds,
            () => Verdict::Open,
        };
        let figures = [at, self.diagonal.theta, bound(least), least.theta];
        let [words, diagonal, lowest, theta] = figures.map(short);
        let found = format!("{words} at pi/4 = {diagonal}, least {lowest} at {theta} (one of the grid)");
        let judged = Judged::new(verdict, found).number("at pi/4", at);
        judged.number("least", bound(least)).number("theta of the least", least.theta)
    }

    /// Judges whether the type two bound is at most the type one bound wherever the condition of Theorem 3 holds.
    fn theorem_3(&self, at: usize, norm: f64) -> Judged {
        let errors = self.around.iter().map(|of| (of.type_two(at), of.is_covered(norm).then(|| of.type_one())));
        // Nothing else limits type two.
        Bounded::judge([&Bounded::of(errors, f64::INFINITY)], "angles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns four relevant and five irrelevant documents. The centers of the two groups differ by `apart` in both
    /// features.
    fn data_set(apart: f64, norm: f64) -> DataSet {
        let line = |center: f64, count: usize| {
            (0..count).map(|i| center + 0.1 * (i as f64 / count as f64 - 0.5)).map(|x| (x, x)).collect()
        };
        let plane = Plane { relevant: line(apart / 2.0, 4), irrelevant: line(-apart / 2.0, 5) };
        let orders = Orders::new(4, 5);
        let at = |theta: f64| AtAngle::new(&plane, theta, &orders, &[norm]);
        let around = (0..16).map(|i| at(std::f64::consts::TAU * f64::from(i) / 16.0)).collect();
        DataSet { figure: "a test", variances: (0.0, 0.0), around, diagonal: at(std::f64::consts::FRAC_PI_4) }
    }

    #[test]
    fn theorem_3_covers_the_angles_from_its_norm_on() {
        let near = data_set(2.0, 1.0);
        assert_eq!(near.theorem_3(0, 1.0).verdict, Verdict::Open, "no angle is covered at norm 1");
        let norm = near.diagonal.norm().unwrap();
        assert!(!near.diagonal.is_covered(0.99 * norm) && near.diagonal.is_covered(1.01 * norm));
        let far = data_set(2.0, 2.0 * norm);
        assert_eq!(far.theorem_3(0, 2.0 * norm).verdict, Verdict::Holds);
    }

    /// If the condition of Theorem 3 does not hold, the type two bound may exceed the type one bound.
    #[test]
    fn without_its_condition_theorem_3_breaks() {
        let of = data_set(2.0, 10.0);
        let mut found = Bounded::default();
        of.around.iter().for_each(|of| found.add(of.type_two(0), Some(of.type_one()), f64::INFINITY));
        assert_eq!(Bounded::judge([&found], "angles").verdict, Verdict::Fails);
    }

    #[test]
    fn the_least_angle_is_judged_against_the_diagonal() {
        let of = data_set(2.0, 1.0);
        assert_eq!(of.least_at_diagonal(|of| of.type_two(0)).verdict, Verdict::Holds);
        let mut turned = data_set(2.0, 1.0);
        turned.around[0].orders.exponential[0] = turned.diagonal.type_two(0) - 0.1;
        assert_eq!(turned.least_at_diagonal(|of| of.type_two(0)).verdict, Verdict::Fails);
    }

    #[test]
    fn the_loss_of_the_order_is_judged_against_the_loss_of_orders() {
        let plane = Plane::generated((0.2, 1.3), 1, 1);
        let orders = Orders::new(RELEVANT, IRRELEVANT);
        let around: Vec<AtAngle> =
            [0.0, 1.5, 2.0, 2.5].into_iter().map(|theta| AtAngle::new(&plane, theta, &orders, &[1.0])).collect();
        let mut of = DataSet { figure: "a test", variances: (0.2, 1.3), diagonal: around[0].clone(), around };
        assert_eq!(of.within(|of| of.orders.loss, orders.largest_loss()).verdict, Verdict::Holds);
        assert_eq!(of.within(AtAngle::type_one, 1.0).verdict, Verdict::Holds);
        of.around.iter_mut().for_each(|of| (of.orders.loss, of.orders.precision) = (0.0, -0.5));
        assert_eq!(of.within(|of| of.orders.loss, orders.largest_loss()).verdict, Verdict::Fails);
    }
}
