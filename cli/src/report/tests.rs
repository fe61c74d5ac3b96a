//! Pages of reports written by hand: well-formed, self-contained, escaped, and complete.

use burn_rank::json::Value;
use burn_rank::measure::significance::{ComparisonConfig, compare_all};
use burn_rank::measure::{Convention, Measure};
use burn_rank::workbench::json::json;

use super::{ComparedMeasure, ComparisonReport, ScoredDocument, comparison_page, page};
use crate::experiment::{Report, RunRecord};

/// A name with HTML in it, which must appear on a page as text.
const HOSTILE: &str = "</title><script>alert('1')</script> & \"<b>";

fn data(queries: usize) -> Value {
    let statistics = json!({"queries": queries, "documents": 9, "features": 3, "empty_queries": 1,
        "single_label_queries": 1, "labels": [[0.0, 5], [1.0, 3], [2.0, 1]], "list_lengths": [[1, 1], [4, 2]],
        "length_range": [1, 4, 4]});
    json!({"statistics": statistics, "hash": "0123456789abcdef"})
}

fn history(surrogate: bool) -> Value {
    let round = |round: u32| {
        let mut figures = vec![json!(["learning_rate", 0.01])];
        figures.extend(surrogate.then(|| json!(["surrogate", 0.3 + 0.05 * f64::from(round)])));
        figures.extend((surrogate && round != 2).then(|| json!(["exact_learnable", 0.27 + 0.06 * f64::from(round)])));
        json!({"round": round, "objective": 0.7 / f64::from(round), "figures": figures,
            "train": (round != 2).then_some(0.25 + 0.06 * f64::from(round)), "validation": 0.4 + 0.01 * f64::from(round)})
    };
    json!([round(1), round(2), round(3)])
}

fn config() -> Value {
    json!({"name": HOSTILE, "description": HOSTILE, "seed": 1, "normalizer": "z_score",
        "scorer": {"kind": "linear", "bias": null}, "loss": {"name": "approx_ndcg", "alpha": 10.0},
        "learner": {"kind": "gradient", "epochs": 3}})
}

fn measures(queries: usize) -> Value {
    json!({"queries": queries, "empty_queries": 1, "measures": {"ndcg@10": 0.4567, "map": 0.25},
        "standard_errors": {"ndcg@10": 0.0321, "map": null}})
}

fn per_query() -> Value {
    json!({"set": "test", "queries": [HOSTILE, "2", "3"], "values": {"ndcg@10": [0.1, null, 0.9], "map": [0.0, null, 0.5]}})
}

/// A query whose document has a name with HTML in it.
fn extremes() -> Value {
    let document = |rank: usize, ideal: usize| json!({"rank": rank, "document": HOSTILE, "score": (rank == 1).then_some(0.75), "label": 2.0, "ideal_rank": ideal});
    let query = |name: &str, value: f64| json!({"query": name, "value": value, "documents": 40, "shown": [document(1, 2), document(39, 1)]});
    json!({"measure": "ndcg@10", "worst": [query(HOSTILE, 0.1), query("2", 0.25)], "best": [query("3", 0.9)]})
}

fn versions() -> Value {
    json!({"burn_rank": "0.1.0", "burn": "0.22.1", "format": 1})
}

fn partial_dependence() -> Value {
    json!([
        {"feature": 3, "values": [0.0, 0.0, 2.5], "scores": [-0.125, -0.125, 0.75], "missing": {"share": 0.25, "score": 0.0625}},
        {"feature": 1, "values": [4.0, 4.0, 4.0], "scores": [0.5, 0.5, 0.5]},
    ])
}

fn train() -> Value {
    json!({"command": "train", "name": HOSTILE, "config": config(), "convention": "standard", "selection": "ndcg@10",
        "fold": 1, "data": {"train": data(30), "validation": data(4), "test": data(3)},
        "measures": {"train": measures(30), "validation": measures(4), "test": measures(3)},
        "seed": 7, "rounds": 3, "best_round": 2, "stop": "early_stopped",
        "approximation": {"documents": 4, "evaluation": "exponentials", "terms": 16, "error_f64": 1.5e-7, "error_f32": 2e-6}, "weights": [0.5, -1.25, 0.0],
        "partial_dependence": partial_dependence(),
        "history": history(true), "per_query": per_query(), "extremes": extremes(), "versions": versions()})
}

/// The report of a fit with only a training set, which was stopped before its first round.
fn least() -> Value {
    let mut report = train();
    report["data"] = json!({"train": data(1)});
    report["measures"] = json!({"train": measures(1)});
    report["convention"] = json!({"gain": "linear"});
    report["config"] = json!({"learner": {"kind": "rank_boost"}});
    report["per_query"] = json!({"set": "train", "queries": ["1"], "values": {"ndcg@10": [null]}});
    report["best_round"] = json!(0);
    report["rounds"] = json!(0);
    report["history"] = json!([]);
    report.as_object_mut().unwrap().swap_remove("weights");
    report
}

fn cross_validation() -> Value {
    let fold = |number: u32, selected: &str| {
        json!({"fold": number, "selected": selected, "validation": 0.5, "measures": {"ndcg@10": 0.4, "map": 0.3},
            "standard_errors": {"ndcg@10": 0.05, "map": 0.04}})
    };
    let fit = |seed: u32| json!({"seed": seed, "rounds": 3, "best_round": 3, "stop": "completed", "weights": [1.0, -1.0], "history": history(false)});
    let details = json!({"data": {"train": data(30), "validation": data(4), "test": data(3)}, "points": [0.48, 0.5],
        "per_query": per_query(), "extremes": extremes(), "fits": [fit(1), fit(2)]});
    let points = ["loss.name=\"<i>\"", "loss.alpha=10.0"];
    json!({"command": "cv", "name": HOSTILE, "convention": "letor", "queries": 6, "empty_queries": 2,
        "measures": {"ndcg@10": 0.4, "map": 0.3}, "standard_errors": {"ndcg@10": 0.035, "map": 0.028}, "seeds": [1, 2],
        "folds": [fold(1, points[0]), fold(2, points[1])], "interrupted": false, "config": config(),
        "selection": "ndcg@10", "points": points, "details": [details, details], "versions": versions()})
}

/// The report of a search by successive halving in two folds.
fn searched() -> Value {
    let trial = |trial: u32, rungs: &[f64]| {
        json!({"trial": trial, "values": {"learner.l2": 0.01 * f64::from(trial), "loss.name": HOSTILE}, "validation": rungs.last(),
            "rounds": 3 * rungs.len(), "rungs": rungs})
    };
    let mut report = cross_validation();
    report["points"] = json!([]);
    report["search"] = json!({"kind": "successive_halving", "trials": 3, "rungs": [{"trials": 3, "rounds": 3}, {"trials": 1, "rounds": 9}]});
    let scales = json!({"learner.l2": {"from": 0.01, "to": 0.1, "scale": "log"}, "loss.name": [HOSTILE, "b"]});
    report["config"]["search"] = json!({"kind": "successive_halving", "trials": 3, "reduction": 3, "space": scales});
    for fold in [0, 1] {
        let folds = report["folds"].as_array_mut().unwrap();
        folds[fold]["trials"] = json!([trial(1, &[0.25]), trial(2, &[0.5, 0.625]), trial(3, &[0.125])]);
        report["details"].as_array_mut().unwrap()[fold]["points"] = json!([]);
    }
    report
}

fn record() -> RunRecord {
    RunRecord {
        device: HOSTILE.to_string(),
        platform: "x86_64 linux".to_string(),
        instructions: "avx2".to_string(),
        threads: 2,
        fit_seconds: 61.0,
        total_seconds: 62.5,
        peak_memory_mib: Some(63.0),
        finished: 951_782_400,
    }
}

fn rendered(report: Value, record: Option<&RunRecord>) -> String {
    page(&burn_rank::json::from_value::<Report>(report).unwrap(), record)
}

/// The page that compares two or three systems on four queries. One query has no value, and in the first query all
/// documents are tied.
fn comparison(systems: usize, known: bool) -> String {
    let values: Vec<Vec<Option<f64>>> = [[0.5, 0.25, 0.75], [0.5, 1.0, 0.5], [0.0, 0.0, 0.125]][..systems]
        .iter()
        .map(|values| values.iter().copied().map(Some).chain([None]).collect())
        .collect();
    let config = ComparisonConfig { resamples: 100, ..ComparisonConfig::default() };
    let pairs = compare_all(&values.iter().map(Vec::as_slice).collect::<Vec<_>>(), &config).unwrap();
    let of = |measure| ComparedMeasure { measure, values: values.clone(), pairs: pairs.clone() };
    let report = ComparisonReport {
        convention: Convention::default(),
        queries: 4,
        empty_queries: 1,
        systems: (0..systems).map(|system| format!("{HOSTILE}{system}")).collect(),
        query_ids: [HOSTILE, "q2", "q3", "q4"].map(String::from).to_vec(),
        folds: Vec::new(),
        set: "",
        measures: vec![of(Measure::Ndcg(Some(10))), of(Measure::Ap(None))],
        config,
    };
    let document = |system: usize, number: usize| ScoredDocument {
        document: format!("{HOSTILE}{number}"),
        label: number as f32,
        score: if number == 2 { f32::NEG_INFINITY } else { (system * number) as f32 },
    };
    comparison_page(&report, &|_, system| known.then(|| (0..3).map(|number| document(system, number)).collect()))
        .unwrap()
}

fn pages() -> Vec<String> {
    vec![
        rendered(train(), Some(&record())),
        rendered(least(), None),
        rendered(cross_validation(), Some(&record())),
        rendered(cross_validation(), None),
        rendered(searched(), None),
        comparison(2, true),
        comparison(3, false),
    ]
}

/// An element: its name and attributes.
type Element<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// Returns the elements of a page in the order in which they open, or an error if tags do not balance, an attribute is
/// not quoted, or text is not escaped.
fn elements(page: &str) -> Result<Vec<Element<'_>>, String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no document type")?;
    let (mut found, mut open): (Vec<Element>, Vec<&str>) = (Vec::new(), Vec::new());
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        let escaped = text.split('&').skip(1).all(|after| {
            ["amp;", "lt;", "gt;", "quot;", "apos;", "#39;"].iter().any(|entity| after.starts_with(entity))
        });
        if !escaped || (text.contains('>') && open.last() != Some(&"style")) {
            return Err(format!("not escaped: {text}"));
        }
        let end = at + rest[at..].find('>').ok_or("a tag without an end")?;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes nothing, inside {open:?}"));
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut given) = tag.trim().split_once(' ').unwrap_or((tag.trim(), ""));
        let mut attributes = Vec::new();
        while !given.trim().is_empty() {
            let (attribute, value) =
                given.trim_start().split_once("=\"").ok_or_else(|| format!("not quoted: {tag}"))?;
            let (value, after) = value.split_once('"').ok_or_else(|| format!("not closed: {tag}"))?;
            attributes.push((attribute, value));
            given = after;
        }
        found.push((name, attributes));
        if !empty {
            open.push(name);
        }
    }
    if open.is_empty() { Ok(found) } else { Err(format!("left open: {open:?}")) }
}

#[test]
fn malformed_pages_are_detected() {
    for broken in ["<p>", "<p></b>", "</p>", "<p a=b></p>", "<p>a & b</p>", "<p>a > b</p>", "<p a=\"></p>"] {
        assert!(elements(&format!("<!DOCTYPE html>{broken}")).is_err(), "{broken}");
    }
    let fine = "<!DOCTYPE html><p a=\"1\" b=\"2 &lt;\">a &amp; b<br /></p>";
    assert_eq!(elements(fine).unwrap(), [("p", vec![("a", "1"), ("b", "2 &lt;")]), ("br", vec![])]);
}

#[test]
fn pages_are_well_formed_and_load_nothing() {
    for page in pages() {
        let elements = elements(&page).unwrap();
        assert!(elements.len() > 50);
        for (name, attributes) in elements {
            let known = [
                "abbr",
                "body",
                "circle",
                "code",
                "dd",
                "details",
                "div",
                "dl",
                "dt",
                "figcaption",
                "figure",
                "h1",
                "h2",
                "head",
                "header",
                "html",
                "i",
                "li",
                "line",
                "link",
                "main",
                "mark",
                "meta",
                "p",
                "polyline",
                "pre",
                "rect",
                "section",
                "small",
                "span",
                "strong",
                "style",
                "summary",
                "svg",
                "table",
                "tbody",
                "td",
                "text",
                "th",
                "thead",
                "title",
                "tr",
                "ul",
            ];
            assert!(known.contains(&name), "<{name}>");
            for (attribute, value) in attributes {
                assert!(
                    !attribute.starts_with("on") && !["src", "srcset", "style"].contains(&attribute),
                    "{attribute}"
                );
                assert!(attribute != "href" || value == "data:,", "{value}");
            }
        }
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        assert!(!style.contains("url(") && !style.contains("@import") && !style.contains('<'));
    }
}

#[test]
fn names_are_escaped() {
    for page in pages() {
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
    }
}

#[test]
fn every_color_of_a_plot_is_in_the_style() {
    let pages = pages();
    let classes: Vec<&str> = pages
        .iter()
        .flat_map(|page| elements(page).unwrap())
        .flat_map(|(_, attributes)| attributes)
        .filter_map(|(attribute, value)| (attribute == "class").then_some(value))
        .collect();
    for class in classes.iter().filter(|class| class.starts_with("fill-") || class.starts_with("stroke-")) {
        assert!(super::about::STYLE.contains(&format!(".{class} {{")), "{class}");
    }
    assert!(classes.contains(&"stroke-surrogate"));
}

#[test]
fn the_page_of_a_fit_is_complete() {
    let page = rendered(train(), Some(&record()));
    for part in [
        "standard convention",
        "test ndcg@10",
        "0.4567<small> \u{b1} 0.0321</small>",
        "of 3 epochs, stopped early",
        "surrogate approx_ndcg, training",
        "At epoch 2: surrogate 0.4000, exact on the same queries (at 1, the last measured before) 0.3300",
        "exact on validation queries 0.4200",
        "a sum of 16 exponentials. In lists of up to 4 documents, the error is at most 1.500e\u{2212}7",
        "ndcg@10 is 0.4567 \u{b1} 0.0321 on 3 test queries. Epoch 2 of 3 was selected on the validation queries.",
        "1 query with nothing to measure, left out by the standard convention.",
        "normalized by z_score",
        "query 2: 0.2500, 40 documents",
        "39</th><td>\u{2013}</td><td>2</td><td>1</td><td>&lt;/title",
        "mean score by feature 3",
        "<td>0.5000</td><td>\u{2212}0.1250</td>",
        "<td>missing in 0.2500</td><td>0.0625</td>",
        "kind = &quot;gradient&quot;",
        "<abbr title=\"0123456789abcdef\">",
        "62.5 s",
        "63 MiB",
        "2000-02-29 00:00 UTC",
        "burn-rank 0.1.0, burn 0.22.1",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_refit_says_what_the_cross_validation_expects() {
    let mut report = train();
    report["data"].as_object_mut().unwrap().retain(|set, _| set == "train");
    report["measures"].as_object_mut().unwrap().retain(|set, _| set == "train");
    report["config"]["measure"] = json!({"round": 2});
    let page = rendered(report.clone(), None);
    assert!(page.contains("There are no test queries.") && !page.contains("was selected on the training queries"));
    report["estimate"] = json!({"measures": {"ndcg@10": 0.375}, "standard_errors": {"ndcg@10": 0.0125}, "queries": 6,
        "folds": 3, "seeds": 1});
    let words = "expect 0.3750 \u{b1} 0.0125, the mean of the cross-validation over 6 test queries in 3 folds.";
    assert!(rendered(report, None).contains(words));
}

#[test]
fn the_page_of_a_cross_validation_is_complete() {
    let page = rendered(cross_validation(), Some(&record()));
    for part in [
        "letor convention",
        "0.4000<small> \u{b1} 0.0350</small>",
        "2 folds \u{d7} 2 grid points \u{d7} 2 seeds",
        "<th scope=\"row\">alpha 10.0</th><td>0.5000</td><td><mark>0.5000</mark></td><td><code>loss.alpha=10.0</code></td>",
        "<tr class=\"selected\"><th scope=\"row\">alpha 10.0</th><td>0.5000<small> \u{b1} 0.0000</small></td><td>1 of 2</td></tr>",
        "alpha 10.0 has the highest mean on validation queries, ndcg@10 0.5000. Second is &lt;i&gt;, 0.0200 \u{b1} 0.0000 lower.",
        "On 6 test queries in 2 folds, the mean ndcg@10 is 0.4000 \u{b1} 0.0350, with the point that each fold \
         selected.",
        "<tr class=\"total\"><th scope=\"row\">mean of queries</th><td></td><td></td><td>0.5000</td><td>0.2500</td></tr>",
        "fold 2: ndcg@10 (letor)",
        "Seed 1, the first of 2.",
        "One dot per fold.",
        "fold 1, 3",
        "fold 2, query 3: 0.9000, 40 documents",
        "without a label of 1 or above",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("Seed 1, the first of 2.").count(), 2, "of the curves and of the queries");
}

#[test]
fn what_points_of_a_grid_change_names_no_fit() {
    let mut report = cross_validation();
    let page = rendered(report.clone(), None);
    assert!(page.contains("epoch selected") && page.contains("normalized by z_score"));
    report["config"]["grid"] = json!({"learner": [{"kind": "gradient"}, {"kind": "boosted_trees"}]});
    let page = rendered(report, None);
    assert!(page.contains("round selected") && page.contains("as each fit normalized them"));
    assert!(page.contains("The configuration without the defaults"));
}

#[test]
fn the_page_of_a_comparison_is_complete() {
    let page = comparison(2, true);
    // Systems go by the last part of their path.
    let [a, b, c] = [0, 1, 2].map(|system| format!("script&gt; &amp; &quot;&lt;b&gt;{system}"));
    for part in [
        "4<span>1 empty</span>",
        &format!("<tr><th scope=\"row\">{b} \u{2212} {a}</th><td>+0.1667</td>"),
        &format!("ndcg@10 of each query: {b} \u{2212} {a}"),
        &format!("ndcg@10: no difference shown between {a} and {b}. 3 queries are too few to show one."),
        "query q2: +0.7500, from 0.2500 to 1.0000",
        "query q3: \u{2212}0.2500, from 0.7500 to 0.5000",
        &format!("From {a} to {b}: gained"),
        "2</th><td>2</td><td>\u{2013}</td><td>\u{2013}</td><td>1</td>",
        "1</th><td>1</td><td>2</td><td>1</td><td>2</td>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let three = comparison(3, false);
    for part in ["tukey: Tukey", &format!("ndcg@10 of each query: {c} \u{2212} {b}"), "The rankings are not known"] {
        assert!(three.contains(part), "{part}");
    }
    assert!(!page.contains("tukey"));
}

#[test]
fn the_trials_of_a_search_are_drawn_and_listed() {
    let page = rendered(searched(), None);
    for part in [
        "2 folds \u{d7} 3 trials \u{d7} 2 seeds",
        "3 trials of 3 rounds, then 1 trial of 9 rounds",
        "ndcg@10 (letor) by learner.l2",
        "fold 2: ndcg@10 (letor) by rounds",
        "<tr class=\"selected\"><th scope=\"row\">2</th><td>0.6250</td><td>6</td><td>0.5000</td><td>0.6250</td><td><code>0.02</code></td>",
        "<tr><th scope=\"row\">1</th><td>0.2500</td><td>3</td><td>0.2500</td><td></td><td><code>0.01</code></td>",
        "One fit per fold, with the trial that the fold selected.",
    ] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn a_written_report_is_read_back_unchanged() {
    for report in [train(), least(), cross_validation(), searched()] {
        let typed: Report = burn_rank::json::from_value(report).unwrap();
        let text = serde_json::to_string_pretty(&typed).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), typed);
    }
}

#[test]
fn an_inconsistent_report_still_gives_a_page() {
    let mut report = cross_validation();
    report["folds"] = json!([report["folds"][0]]);
    report["details"][0]["data"]["test"]["statistics"]["list_lengths"] = json!([[0, 3], [7, 1]]);
    report["details"][0]["fits"][0]["weights"] = json!([1e30]);
    report["details"][1]["per_query"]["queries"] = json!([]);
    elements(&rendered(report, None)).unwrap();
    let mut report = train();
    report["best_round"] = json!(99);
    report["data"]["train"]["statistics"]["labels"] = json!([]);
    report["data"]["train"]["statistics"]["list_lengths"] = json!([]);
    report["per_query"]["values"]["ndcg@10"] = json!([-7.5, 1e300, 3]);
    report["history"][1]["figures"] = json!([]);
    report["partial_dependence"][0]["values"] = json!([]);
    report["partial_dependence"][1]["scores"] = json!([1e300]);
    elements(&rendered(report, Some(&record()))).unwrap();
}
