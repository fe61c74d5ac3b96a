//! `expected/significance.json`, computed by SciPy (see `expected/generate.py`).

use burn_rank::measure::significance::{
    ComparisonConfig, TukeyPair, compare, studentized_range_survival, tukey_hsd, tukey_hsd_independent,
};
use serde_json::Value;

use crate::measure_lists::{assert_close, number, numbers};

fn golden() -> Value {
    serde_json::from_str(include_str!("expected/significance.json")).unwrap()
}

#[test]
fn paired_tests_agree() {
    let golden = golden();
    let cases = golden["paired"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let values = |name: &str| numbers(&case[name]).into_iter().map(Some).collect::<Vec<_>>();
        let found = compare(&values("first"), &values("second"), &ComparisonConfig::default()).unwrap();
        let same = |found, name: &str| assert_close(found, number(&case[name]), 1e-9, 1e-12, name);
        same(found.mean_difference, "mean_difference");
        same(found.cohen_d, "cohen_d");
        same(found.t_test.t, "t");
        same(found.t_test.p_value, "t_p_value");
        let interval = numbers(&case["t_interval"]);
        assert_close(found.t_test.low, interval[0], 1e-8, 1e-9, "interval");
        assert_close(found.t_test.high, interval[1], 1e-8, 1e-9, "interval");

        let p_value = number(&case["randomization_p_value"]);
        assert_eq!(found.randomization.exact, case["randomization_exact"].as_bool().unwrap());
        // Two independent samples of 100,000 and 200,000: five standard errors of their difference.
        let sampled = 5.0 * (p_value * (1.0 - p_value) * 1.5e-5).sqrt() + 1e-5;
        let tolerance = if found.randomization.exact { 1e-12 } else { sampled };
        assert_close(found.randomization.p_value, p_value, 0.0, tolerance, "randomization");
        // An end of the interval is a sampled percentile: within a fortieth of the standard error of the mean.
        let ends = numbers(&case["bootstrap_interval"]);
        let tolerance = number(&case["bootstrap_standard_error"]) / 40.0;
        assert_close(found.bootstrap.low, ends[0], 0.0, tolerance, "bootstrap");
        assert_close(found.bootstrap.high, ends[1], 0.0, tolerance, "bootstrap");
    }
}

#[test]
fn tukeys_test_agrees() {
    let golden = golden();
    let mut compared = 0;
    for case in golden["tukey"].as_array().unwrap() {
        let systems: Vec<Vec<f64>> = case["systems"].as_array().unwrap().iter().map(numbers).collect();
        let mut check = |pairs: Vec<TukeyPair>, expected: &str| {
            for pair in pairs {
                let expected = number(&case[expected][pair.first][pair.second]);
                assert_close(pair.p_value, expected, 1e-8, 1e-10, "p-value");
                compared += 1;
            }
        };
        check(tukey_hsd_independent(&systems).unwrap(), "one_way");
        check(tukey_hsd(&systems).unwrap(), "blocked");
    }
    assert_eq!(compared, 2 * (3 + 10));
}

#[test]
fn the_studentized_range_agrees() {
    let golden = golden();
    let cases = golden["studentized_range"].as_array().unwrap();
    assert_eq!(cases.len(), 144);
    for case in cases {
        let (q, groups, freedom) = (number(&case["q"]), case["groups"].as_u64().unwrap(), number(&case["freedom"]));
        let found = studentized_range_survival(q, groups as usize, freedom);
        assert_close(
            found,
            number(&case["survival"]),
            0.0,
            1e-9,
            &format!("q {q}, groups {groups}, freedom {freedom}"),
        );
    }
}
