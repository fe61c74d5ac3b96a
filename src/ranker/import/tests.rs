//! Tests that formats are recognized, that errors name unsupported features, and that no bytes cause a panic.

use burn::tensor::Device;
use proptest::prelude::*;

use super::*;
use crate::data::RankingDataset;
use crate::ranker::NodeStatistics;

const LIGHT_GBM: &str = "tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=lambdarank
feature_names=Column_0 Column_1
feature_infos=[0:1] [0:1]
tree_sizes=100 100

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
threshold=0.5 0.1
decision_type=8 2
left_child=1 -1
right_child=-3 -2
leaf_value=1 2 4
is_linear=0
shrinkage=1

Tree=1
num_leaves=1
num_cat=0
leaf_value=0.25
is_linear=0
shrinkage=1

end of trees

parameters:
end of parameters
";

const XG_BOOST: &str = r#"{"learner":{"attributes":{},"feature_names":["a","b"],"feature_types":[],"gradient_booster":
{"model":{"gbtree_model_param":{"num_parallel_tree":"1","num_trees":"1"},"tree_info":[0],"trees":[{"categories":[],
"default_left":[0,1,0,0,0],"left_children":[1,3,-1,-1,-1],"right_children":[2,4,-1,-1,-1],
"split_conditions":[5E-1,1E-1,4E0,1E0,2E0],"split_indices":[0,1,0,0,0],"split_type":[0,0,0,0,0],
"tree_param":{"num_nodes":"5","size_leaf_vector":"1"}}]},"name":"gbtree"},
"learner_model_param":{"base_score":"[2.5E-1]","num_class":"0","num_feature":"2","num_target":"1"},
"objective":{"name":"rank:ndcg"}},"version":[3,2,0]}"#;

const CAT_BOOST: &str = r#"{"features_info":{"float_features":[
{"borders":[0.5],"feature_id":"","feature_index":0,"flat_feature_index":0,"nan_value_treatment":"AsFalse"},
{"borders":[0.1],"feature_id":"","feature_index":1,"flat_feature_index":1,"nan_value_treatment":"AsTrue"}]},
"model_info":{"params":{"loss_function":{"params":{},"type":"YetiRank"}}},
"oblivious_trees":[{"leaf_values":[1,2,3,4],"splits":[
{"border":0.5,"float_feature_index":0,"split_index":0,"split_type":"FloatFeature"},
{"border":0.1,"float_feature_index":1,"split_index":1,"split_type":"FloatFeature"}]}],
"scale_and_bias":[2,[0.25]]}"#;

const RANK_LIB: &str = "## LambdaMART
## No. of trees = 1

<ensemble>
\t<tree id=\"1\" weight=\"0.5\">
\t\t<split>
\t\t\t<feature> 1 </feature>
\t\t\t<threshold> 0.5 </threshold>
\t\t\t<split pos=\"left\">
\t\t\t\t<output> 1.0 </output>
\t\t\t</split>
\t\t\t<split pos=\"right\">
\t\t\t\t<output> 4.0 </output>
\t\t\t</split>
\t\t</split>
\t</tree>
</ensemble>
";

const FILES: [(&str, &str); 4] =
    [("LightGBM text", LIGHT_GBM), ("XGBoost JSON", XG_BOOST), ("CatBoost JSON", CAT_BOOST), ("RankLib XML", RANK_LIB)];

/// Returns the format with a title.
fn titled(title: &str) -> ImportFormat {
    ImportFormat::all().find(|format| format.to_string() == title).unwrap()
}

fn import(bytes: &[u8], format: ImportFormat) -> Result<Ranker, RankerError> {
    Ranker::import(bytes, format, Path::new("file"))
}

/// Returns the score that an imported file gives each document.
fn scores(text: &str, rows: &[[f32; 2]]) -> Vec<f32> {
    let format = ImportFormat::detect(text.as_bytes()).unwrap();
    let ranker = import(text.as_bytes(), format).unwrap();
    let features: Vec<f32> = rows.iter().flatten().copied().collect();
    let data = RankingDataset::builder()
        .features(features, 2)
        .labels(vec![0.0; rows.len()])
        .query_sizes(&[rows.len()])
        .build()
        .unwrap();
    let saved = Ranker::from_bytes(&ranker.to_bytes(), Path::new("saved"), &Device::flex()).unwrap();
    let scores = ranker.predict(&data, &Device::flex()).unwrap();
    assert_eq!(saved.predict(&data, &Device::flex()).unwrap(), scores, "{format}: another ranker when saved");
    scores
}

/// Returns the error from a file in which one text was replaced by another.
fn error(format: &str, from: &str, to: &str) -> String {
    let (_, text) = FILES.into_iter().find(|(other, _)| *other == format).unwrap();
    assert!(text.contains(from), "{format}: {from}");
    import(text.replace(from, to).as_bytes(), titled(format)).unwrap_err().to_string()
}

#[test]
fn formats_are_told_apart_by_their_beginning() {
    for (format, text) in FILES {
        assert_eq!(ImportFormat::detect(text.as_bytes()).unwrap().to_string(), format);
    }
    for other in ["", "0.5\n1.5\n", "[data]\ntrain = []\n", "{\"scores\":[1]}", "treetop\n", "<html></html>"] {
        assert!(ImportFormat::detect(other.as_bytes()).is_none(), "{other}");
    }
    let own = import(RANK_LIB.as_bytes(), titled("RankLib XML")).unwrap().to_bytes();
    assert!(ImportFormat::detect(&own).is_none());
}

#[test]
fn scores_equal_those_worked_by_hand() {
    let (at, above) = (0.5, 0.5f32.next_up());
    let missing = f32::NAN;
    // At most 0.5 goes left; the second split takes NaN for 0, which is below 0.1.
    let rows = [[at, 0.0], [at, 0.2], [above, 0.0], [missing, 0.0], [at, missing]];
    assert_eq!(scores(LIGHT_GBM, &rows), [1.25, 2.25, 4.25, 4.25, 1.25]);
    // Values below 0.5 go left; a missing value goes left only at the second split.
    let below = 0.5f32.next_down();
    let rows = [[below, 0.0], [below, 0.1], [at, 0.0], [missing, 0.0], [below, missing]];
    assert_eq!(scores(XG_BOOST, &rows), [1.25, 2.25, 4.25, 4.25, 1.25]);
    // Above 0.5 adds 1 to the number of the leaf, above 0.1 adds 2; the score is twice the leaf and 0.25.
    let rows = [[at, 0.1], [above, 0.1], [at, 0.2], [above, 0.2], [missing, missing]];
    assert_eq!(scores(CAT_BOOST, &rows), [2.25, 4.25, 6.25, 8.25, 6.25]);
    // RankLib's file names only feature 1; the second feature is ignored. A missing value counts as 0.
    assert_eq!(scores(RANK_LIB, &[[at, 9.0], [above, 9.0], [missing, 9.0]]), [0.5, 2.0, 0.5]);
    let below_zero = RANK_LIB.replace("<threshold> 0.5 ", "<threshold> -0.5 ");
    assert_eq!(scores(&below_zero, &[[missing, 9.0]]), [2.0]);
}

#[test]
fn zero_is_missing_where_the_file_says_so() {
    let text = LIGHT_GBM.replace("decision_type=8 2", "decision_type=4 6");
    let rows = [[0.5, 0.2], [0.0, 0.2], [1e-36, 0.2], [-1e-35, 0.2], [1e-34, 0.2], [f32::NAN, 0.2], [0.5, 0.0]];
    assert_eq!(scores(&text, &rows), [2.25, 4.25, 4.25, 4.25, 2.25, 4.25, 1.25]);
}

#[test]
fn values_near_zero_go_the_way_of_zero_in_light_gbm() {
    let rows = [[-1e-36, 0.2], [0.0, 0.2], [1e-36, 0.2], [1e-34, 0.2]];
    let text = LIGHT_GBM.replace("threshold=0.5 0.1", "threshold=0.0 0.1");
    assert_eq!(scores(&text, &rows), [2.25, 2.25, 2.25, 4.25]);
    let text = LIGHT_GBM.replace("threshold=0.5 0.1", "threshold=-1e-37 0.1");
    assert_eq!(scores(&text, &rows), [4.25; 4]);
}

#[test]
fn a_base_score_is_read_in_every_notation() {
    for base in ["\"2.5E-1\"", "0.25", "[2.5E-1]"] {
        assert_eq!(scores(&XG_BOOST.replace("\"[2.5E-1]\"", base), &[[1.0, 0.0]]), [4.25], "{base}");
    }
}

#[test]
fn forests_are_means_of_their_trees() {
    let text = LIGHT_GBM.replace("label_index=0", "label_index=0\naverage_output");
    assert_eq!(scores(&text, &[[1.0, 0.0]]), [4.25 / 2.0]);
}

#[test]
fn rankers_without_a_counterpart_are_refused_by_name() {
    let [light_gbm, xg_boost, cat_boost, rank_lib] = FILES.map(|(title, _)| title);
    for (format, from, to, expected) in [
        (
            light_gbm,
            "version=v4",
            "version=v5",
            "LightGBM text with version `v5` cannot be read: expected v2, v3 or v4",
        ),
        (light_gbm, "num_class=1", "num_class=3", "num_class=3"),
        (light_gbm, "objective=lambdarank", "objective=binary sigmoid:1", "the objective `binary sigmoid:1`"),
        (light_gbm, "objective=lambdarank", "objective=regression sqrt", "the objective `regression sqrt`"),
        (light_gbm, "num_cat=0\nsplit", "num_cat=1\nsplit", "categorical splits (tree at line 12)"),
        (light_gbm, "decision_type=8 2", "decision_type=8 1", "categorical splits"),
        (light_gbm, "is_linear=0\nshrinkage=1\n\nTree=1", "is_linear=1\nshrinkage=1\n\nTree=1", "linear leaves"),
        (
            light_gbm,
            "threshold=0.5 0.1",
            "threshold=0.5",
            "line 16: found 1 numbers, expected a list `threshold` of 2 numbers",
        ),
        (light_gbm, "threshold=0.5 0.1", "threshold=0.5 x", "line 16: found `x`"),
        (light_gbm, "left_child=1 -1", "left_child=0 -1", "found node 0 again"),
        (light_gbm, "right_child=-3 -2", "right_child=-9 -2", "found node 10, expected one of its 5 nodes"),
        (light_gbm, "split_feature=0 1", "split_feature=0 2", "feature[1] = 2: expected below 2"),
        (light_gbm, "end of trees", "", "found 2 trees and the end of the file, expected 2 trees"),
        (light_gbm, "tree_sizes=100 100", "tree_sizes=100 100 100", "found 2 trees, expected 3 trees"),
        (xg_boost, "\"version\":[3,2,0]", "\"version\":[4,0,0]", "XGBoost JSON with version `4.0.0` cannot be read"),
        (xg_boost, "\"num_class\":\"0\"", "\"num_class\":\"3\"", "num_class = 3"),
        (xg_boost, "rank:ndcg", "binary:logistic", "the objective `binary:logistic`"),
        (xg_boost, "rank:ndcg", "binary:logitraw", "the objective `binary:logitraw`"),
        (xg_boost, "\"name\":\"gbtree\"", "\"name\":\"gblinear\"", "the booster `gblinear`"),
        (xg_boost, "\"gbtree_model_param\"", "\"other\"", "no `gbtree_model_param`"),
        (xg_boost, "\"categories\":[]", "\"categories\":[1]", "categorical splits (tree 0)"),
        (xg_boost, "\"split_type\":[0,0", "\"split_type\":[0,1", "categorical splits (tree 0)"),
        (xg_boost, "\"size_leaf_vector\":\"1\"", "\"size_leaf_vector\":\"2\"", "leaves of 2 values"),
        (xg_boost, "[2.5E-1]", "[2.5E-1,1E0]", "base_score: found `[2.5E-1,1E0]`, expected one number"),
        (xg_boost, "\"num_trees\":\"1\"", "\"num_trees\":\"2\"", "found 1 trees, expected 2"),
        (
            cat_boost,
            "\"float_features\"",
            "\"categorical_features\":[{}],\"float_features\"",
            "categorical features (1)",
        ),
        (cat_boost, "\"split_type\":\"FloatFeature\"", "\"split_type\":\"OnlineCtr\"", "splits of type `OnlineCtr`"),
        (cat_boost, "YetiRank", "MultiClass", "the loss `MultiClass`"),
        (cat_boost, "[0.25]", "[0.25,1]", "a bias of 2 values"),
        (
            cat_boost,
            "\"leaf_values\":[1,2,3,4]",
            "\"leaf_values\":[1,2,3]",
            "found 3 leaf values, expected 2 to the power of 2",
        ),
        (cat_boost, "AsTrue", "AsNull", "feature 1: nan_value_treatment: found `AsNull`"),
        (cat_boost, "\"oblivious_trees\"", "\"other_trees\"", "found both or neither"),
        (rank_lib, "## LambdaMART", "## Random Forests", "the learner `Random Forests`"),
        (rank_lib, "<threshold> 0.5 </threshold>", "", "expected a feature, a threshold and two splits, or an output"),
        (rank_lib, "<threshold> 0.5 </threshold>", "<threshold> low </threshold>", "line 8: found another <threshold>"),
        (rank_lib, "weight=\"0.5\"", "", "line 5: found a tree without a weight"),
        (rank_lib, "<feature> 1 </feature>", "<feature> 0 </feature>", "found feature 0"),
        (rank_lib, "</ensemble>\n", "</ensemble><ensemble>", "expected the end of the file"),
        (light_gbm, "max_feature_idx=1", "max_feature_idx=18446744073709551615", "features, expected at most 16777216"),
        (
            xg_boost,
            "\"num_feature\":\"2\"",
            "\"num_feature\":\"16777217\"",
            "XGBoost JSON: tree ensemble: found 16777217 features, expected at most 16777216",
        ),
        (cat_boost, "\"flat_feature_index\":1,", "\"flat_feature_index\":4294967294,", "found 4294967295 features"),
        (rank_lib, "<feature> 1 </feature>", "<feature> 4294967295 </feature>", "found 4294967295 features"),
    ] {
        let message = error(format, from, to);
        assert!(message.contains(expected), "{message}\n{expected}");
    }
    for (bytes, expected) in [
        (
            &b"CBM1\0\0"[..],
            "CatBoost JSON with its binary notation cannot be read: expected save_model(NAME, format=\"json\")",
        ),
        (&b"{L\0\0\0\0\0\0\0\x07learner"[..], "XGBoost JSON with its binary notation (UBJSON) cannot be read"),
        (
            &b"[ { \"nodeid\": 0, \"leaf\": 1 } ]"[..],
            "XGBoost JSON with a dump, which has no base score, cannot be read",
        ),
    ] {
        let format = ImportFormat::detect(bytes).unwrap();
        let message = import(bytes, format).unwrap_err().to_string();
        assert!(message.starts_with(&format!("file: {expected}")), "{message}");
    }
}

/// Returns the statistics of the nodes in an imported file.
fn statistics(text: &str) -> NodeStatistics {
    let format = ImportFormat::detect(text.as_bytes()).unwrap();
    let ranker = import(text.as_bytes(), format).unwrap();
    let Model::Trees(trees) = ranker.model() else { panic!("trees") };
    trees.arrays().statistics.clone()
}

/// Returns [`LIGHT_GBM`] with the lines that LightGBM writes about the nodes.
fn light_gbm_counted() -> String {
    let known =
        "split_gain=8 3\nleaf_count=10 10 20\nleaf_weight=1.5 2.5 3\ninternal_count=40 20\ninternal_weight=7 4\n";
    LIGHT_GBM
        .replace("num_cat=0\nsplit", &format!("num_cat=0\n{known}split"))
        .replace("leaf_value=0.25", "leaf_count=40\nleaf_value=0.25")
}

#[test]
fn counts_and_gains_are_read() {
    // The nodes from the root to the left: split, split, leaves of 1 and 2, leaf of 4; then the constant.
    assert_eq!(
        statistics(&light_gbm_counted()),
        NodeStatistics {
            count: vec![40, 20, 10, 10, 20, 40],
            weight: vec![7.0, 4.0, 1.5, 2.5, 3.0, 0.0],
            gain: vec![8.0, 3.0, 0.0, 0.0, 0.0, 0.0],
        }
    );
    // The base score has no documents.
    let known = "\"sum_hessian\":[8,4,4,2,2],\"loss_changes\":[5,3,0,0,0.5],\"split_type\"";
    let text = XG_BOOST.replace("\"split_type\"", known);
    let (weight, gain) = (vec![0.0, 8.0, 4.0, 2.0, 2.0, 4.0], vec![0.0, 5.0, 3.0, 0.0, 0.0, 0.0]);
    assert_eq!(statistics(&text), NodeStatistics { count: Vec::new(), weight, gain });
    // Leaves of 1 and 2 are at 0 of the second split, which stands at the root.
    let text =
        |weights: &str| CAT_BOOST.replace("\"leaf_values\"", &format!("\"leaf_weights\":{weights},\"leaf_values\""));
    let count = vec![10, 3, 1, 2, 7, 3, 4, 0];
    let weight: Vec<f32> = count.iter().map(|&count| count as f32).collect();
    assert_eq!(statistics(&text("[1,2,3,4]")), NodeStatistics { count, weight: weight.clone(), gain: Vec::new() });
    let weight = weight.iter().map(|weight| 0.5 * weight).collect();
    assert_eq!(statistics(&text("[0.5,1,1.5,2]")), NodeStatistics { weight, ..NodeStatistics::default() });
    // Statistics that do not fit are left out: scores do not depend on them.
    let nothing = NodeStatistics::default();
    for text in [LIGHT_GBM, XG_BOOST, CAT_BOOST, RANK_LIB, &text("[1,2,3]"), &text("[0,0,0,0]")] {
        assert_eq!(statistics(text), nothing);
    }
    for (from, to) in [
        ("leaf_count=10 10 20", "leaf_count=10 10"),
        ("leaf_count=10 10 20", "leaf_count=10 10 x"),
        ("internal_count=40 20\n", ""),
    ] {
        let found = statistics(&light_gbm_counted().replace(from, to));
        assert_eq!((found.count.len(), found.weight.len(), found.gain.len()), (0, 6, 6), "{to}");
    }
    let found = statistics(&light_gbm_counted().replace("split_gain=8 3", "split_gain=inf 3"));
    assert_eq!((found.count.len(), found.weight.len(), found.gain.len()), (6, 6, 0));
}

#[cfg(feature = "export")]
#[test]
fn counts_and_gains_survive_import_and_export() {
    use crate::ranker::ExportFormat;

    let text = light_gbm_counted();
    let ranker = import(text.as_bytes(), titled("LightGBM text")).unwrap();
    let format = ExportFormat::named("lightgbm", ranker.model()).unwrap();
    assert!(ranker.export_notes(format).is_empty());
    let written = String::from_utf8(ranker.export(format).unwrap()).unwrap();
    for line in [
        "split_gain=8.0 3.0",
        "leaf_count=10 10 20",
        "leaf_weight=1.5 2.5 3.0",
        "internal_value=2.75 1.5",
        "internal_count=40 20",
        "internal_weight=7.0 4.0",
        "leaf_count=40",
    ] {
        assert!(written.lines().any(|other| other == line), "`{line}` is not in\n{written}");
    }
    let again = statistics(&written);
    assert_eq!(again, statistics(&text));
}

#[test]
fn a_truncated_file_is_refused() {
    for (format, text) in FILES {
        // Behind the last tree, LightGBM's file has nothing that a score depends on.
        let end = text.find("end of trees").unwrap_or(text.trim_end().len());
        for length in 0..end {
            assert!(import(&text.as_bytes()[..length], titled(format)).is_err(), "{format}: {length} bytes");
        }
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(format in 0..4usize, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ImportFormat::detect(&bytes);
        let _ = import(&bytes, titled(FILES[format].0));
    }

    #[test]
    fn no_changed_byte_panics(format in 0..4usize, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let (format, text) = FILES[format];
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(ranker) = import(&bytes, titled(format)) && ranker.model().features() < 100 {
            let features = ranker.model().features().max(1);
            let data = RankingDataset::builder().features(vec![0.5; features], features).labels(vec![0.0]).query_sizes(&[1]).build().unwrap();
            let _ = ranker.predict(&data, &Device::flex());
        }
    }
}
