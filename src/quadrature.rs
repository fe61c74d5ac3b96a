//! Gauss-Legendre quadrature.

/// Computes the nodes on -1..1 and the weights of the rule with `count` nodes, which is exact for polynomials up to
/// degree `2 count - 1`. The nodes are the roots of the Legendre polynomial, found by Newton's method.
pub(crate) fn gauss_legendre(count: usize) -> Vec<(f64, f64)> {
    let degree = count as f64;
    (0..count)
        .map(|at| {
            let mut x = (std::f64::consts::PI * (at as f64 + 0.75) / (degree + 0.5)).cos();
            let mut slope = 0.0;
            for _ in 0..6 {
                let (mut before, mut value) = (1.0, x);
                for n in 2..=count {
                    let n = n as f64;
                    (before, value) = (value, ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n);
                }
                slope = degree * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quadrature_is_exact_for_polynomials() {
        for count in 1..48 {
            let nodes = gauss_legendre(count);
            for degree in 0..2 * count as i32 {
                let sum: f64 = nodes.iter().map(|(node, weight)| weight * node.powi(degree)).sum();
                let exact = if degree % 2 == 0 { 2.0 / f64::from(degree + 1) } else { 0.0 };
                assert!((sum - exact).abs() < 1e-12, "{count} nodes, degree {degree}: {sum}");
            }
        }
    }
}
