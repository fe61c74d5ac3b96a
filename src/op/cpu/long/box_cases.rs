//! Lists of scores for tests of sums over boxes. Also measures the errors of these sums relative to sums over all
//! pairs.

/// Returns `n` whole numbers below `count` in a scattered order that repeats every `count` numbers.
pub fn scattered(n: usize, count: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |i| (i * 7919 % count) as f64)
}

/// Returns test lists as `(name, scores, steepness)`: spread, crowded and tied scores, and lists with one distant
/// document.
pub fn cases(n: usize) -> Vec<(String, Vec<f32>, f64)> {
    let scattered: Vec<f32> = scattered(n, 20011).map(|x| x as f32 / 20011.0).collect();
    let at =
        |f: &dyn Fn(usize, f32) -> f32| -> Vec<f32> { scattered.iter().enumerate().map(|(i, &u)| f(i, u)).collect() };
    let mut cases = vec![
        ("spread".to_owned(), at(&|_, u| 60.0 * u), 1.0),
        ("spread far".to_owned(), at(&|_, u| 6.0 * u), 1000.0),
        ("crowded".to_owned(), at(&|_, u| u), 1.0),
        ("at one point".to_owned(), at(&|_, _| 0.75), 1.0),
        ("over 1e8".to_owned(), at(&|_, u| 1e8 * u), 1.0),
        ("tied".to_owned(), at(&|_, u| (8.0 * u).floor()), 3.0),
        ("within 1e-6".to_owned(), at(&|_, u| 1e-6 * u), 1.0),
        ("over orders of magnitude".to_owned(), at(&|_, u| (40.0 * u - 20.0).exp()), 1.0),
    ];
    for distance in [1.0, 2.5, 5.0, 8.0, 14.0, 30.0] {
        cases.push((format!("one {distance} above"), at(&|i, u| if i == 0 { distance } else { 1e-3 * u }), 1.0));
        cases.push((format!("one {distance} below"), at(&|i, u| if i == 0 { -distance } else { 1e-3 * u }), 1.0));
    }
    cases
}

/// Returns incoming gradients of both signs.
pub fn gradient_weights(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 31) % 17) as f32 / 8.0 - 0.9).collect()
}

/// Returns the indices of about 20 documents to compare, including the first and the last.
pub fn sample(n: usize) -> impl Iterator<Item = usize> {
    (0..n).step_by(n / 20).chain([n - 1])
}

/// Appends 300 zeros to `values`, as padding.
pub fn padded(values: &[f32]) -> Vec<f32> {
    [values, &[0.0; 300]].concat()
}

/// The exact sum of some terms, with the magnitude relative to which the error of a computed sum is measured.
#[derive(Default)]
pub struct Errors {
    sum: f64,
    largest: f64,
}

impl Errors {
    /// Creates an empty sum whose error is measured relative to at least `least`.
    pub fn of_at_least(least: f64) -> Self {
        Self { largest: least, ..Self::default() }
    }

    pub fn add(&mut self, term: f64) {
        self.sum += term;
        self.largest = self.largest.max(term.abs());
    }

    /// Returns the error of `found`, relative to the sum or its largest term, whichever is larger. If both are too
    /// small for `f32`, the error is 0 for a `found` that is as small, and infinite otherwise.
    pub fn error(&self, found: f32) -> f64 {
        let size = self.largest.max(self.sum.abs());
        let difference = (f64::from(found) - self.sum).abs();
        if size > 1.2e-38 {
            difference / size
        } else if difference > 1.2e-38 {
            f64::INFINITY
        } else {
            0.0
        }
    }
}
