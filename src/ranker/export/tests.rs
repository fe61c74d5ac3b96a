//! Tests the names of formats, and the contents of every format of trees.

use burn::tensor::Device;

use super::*;
use crate::data::{Normalizer, NormalizerKind, RankingDataset, SynthConfig};
use crate::ranker::{Member, Members, Metadata, Node, NodeStatistics, TreeArrays, TreeEnsemble};
use crate::scorer::{LinearScorer, MlpScorerConfig, Scorer, ScorerConfig};

/// Creates a ranker from a model and a normalizer fitted to `data`.
pub(super) fn ranker(kind: NormalizerKind, model: Model, data: &RankingDataset) -> Ranker {
    let metadata = Metadata { data_hash: data.data_hash(), ..Metadata::default() };
    Ranker::new(Normalizer::fit(data, kind), model, metadata).unwrap()
}

/// Creates a multi-layer perceptron.
pub(super) fn mlp(features: usize) -> Model {
    let config = ScorerConfig::Mlp(MlpScorerConfig { hidden: vec![4], ..MlpScorerConfig::default() });
    Model::Scorer(config.init(features, 1, &Device::flex()).unwrap())
}

const LIGHT_GBM: ExportFormat = ExportFormat(&lightgbm::ENTRY);
const XG_BOOST_DUMP: ExportFormat = ExportFormat(&xgboost::DUMP);
const XG_BOOST: ExportFormat = ExportFormat(&xgboost::ENTRY);
const RANK_LIB_TREES: ExportFormat = ExportFormat(&ranklib::TREES);
const SOLR: ExportFormat = ExportFormat(&solr::ENTRY);
const PLUGIN_LINEAR: ExportFormat = ExportFormat(&plugin_linear::ENTRY);
const ONNX: ExportFormat = ExportFormat(&onnx::ENTRY);

fn data() -> RankingDataset {
    SynthConfig { queries: 3, features: 4, ..SynthConfig::default() }.generate().unwrap()
}

#[test]
fn names_choose_formats() {
    let of = |name: &str, model: &Model| ExportFormat::from_path(Path::new(name), model).map(|format| format.0.title);
    let trees = Model::Trees(TreeEnsemble::new(2));
    assert_eq!(of("a/b.onnx", &mlp(2)), Some("ONNX"));
    assert_eq!(of("b.ONNX", &trees), Some("ONNX"));
    assert_eq!(of("b.txt", &trees), Some("LightGBM text"));
    assert_eq!(of("b.txt", &mlp(2)), Some("RankLib text"));
    assert_eq!(of("b.xml", &mlp(2)), Some("RankLib XML"));
    assert_eq!((of("b.pt", &trees), of("b.json", &trees)), (None, None));
    let named = |name, model: &Model| ExportFormat::named(name, model).map(|format| format.0.title);
    assert_eq!((named("ranklib", &trees), named("ranklib", &linear(0.0))), (Some("RankLib XML"), Some("RankLib text")));
    assert_eq!((named("solr", &trees), named("pt", &trees)), (Some("Solr JSON"), None));
}

/// Creates a tree of three leaves whose second split sends missing values left if requested.
fn trees(missing_left: bool) -> Model {
    let mut trees = TreeEnsemble::new(4);
    let tree = [
        Node::Split { feature: 2, threshold: 0.25, left: 1, right: 2, missing_left: false },
        Node::Split { feature: 0, threshold: -0.5, left: 3, right: 4, missing_left },
        Node::Leaf { value: 0.1 },
        Node::Leaf { value: -2.0 },
        Node::Leaf { value: 1e-7 },
    ];
    trees.push(&tree).unwrap();
    Model::Trees(trees)
}

#[test]
fn names_that_a_system_forbids_become_others_and_stay_apart() {
    let plain = ranker(NormalizerKind::None, trees(false), &data());
    let feature_names = Some(["a b", "a_b", "", "x<1"].map(String::from).to_vec());
    let metadata = Metadata { feature_names, ..plain.metadata().clone() };
    let ranker = Ranker::new(plain.normalizer().clone(), plain.model().clone(), metadata).unwrap();
    let text = |format| String::from_utf8(ranker.export(format).unwrap()).unwrap();
    let light = text(LIGHT_GBM);
    assert!(light.contains("\nfeature_names=feature_1 a_b feature_3 x<1\n"), "{light}");
    let xg = text(XG_BOOST);
    assert!(xg.contains(r#""feature_names":["a b","a_b","feature_3","x_1"]"#), "{xg}");
    let note = ranker.export_notes(LIGHT_GBM).remove(0);
    let expected = "LightGBM does not accept names with blanks or `\",:[]{}\\`: `a b` is `feature_1`, `` is \
        `feature_3`";
    assert_eq!(note, expected);
    // The plug-ins find features by any names.
    assert!(text(XG_BOOST_DUMP).contains("\"split\":\"a b\""));
}

/// Returns the tree of [`trees`] with training statistics of its nodes.
fn counted() -> TreeEnsemble {
    let Model::Trees(trees) = trees(true) else { panic!("trees") };
    let statistics = NodeStatistics {
        count: vec![8, 4, 4, 2, 2],
        weight: vec![2.0, 1.5, 0.5, 0.25, 1.25],
        gain: vec![0.75, 0.1, 0.0, 0.0, 0.0],
    };
    TreeEnsemble::from_arrays(4, TreeArrays { statistics, ..trees.arrays().clone() }).unwrap()
}

fn linear(bias: f32) -> Model {
    Model::Scorer(Scorer::Linear(LinearScorer::from_weights(&[0.5, -2.0, 0.0, 1.0], bias, &Device::flex())))
}

fn text(kind: NormalizerKind, model: Model, format: ExportFormat) -> String {
    String::from_utf8(ranker(kind, model, &data()).export(format).unwrap()).unwrap()
}

fn error(kind: NormalizerKind, model: Model, format: ExportFormat) -> String {
    ranker(kind, model, &data()).export(format).unwrap_err().to_string()
}

#[test]
fn files_of_trees_equal_those_worked_by_hand() {
    let file = |missing_left, format| text(NormalizerKind::None, trees(missing_left), format);
    // Conditions are the floats after the thresholds.
    assert_eq!(
        file(true, XG_BOOST_DUMP),
        "[{\"nodeid\":0,\"depth\":0,\"split\":\"feature_3\",\"split_condition\":0.25000003,\"yes\":1,\"no\":2,\
         \"missing\":2,\"children\":[{\"nodeid\":1,\"depth\":1,\"split\":\"feature_1\",\"split_condition\":-0.49999997,\
         \"yes\":3,\"no\":4,\"missing\":3,\"children\":[{\"nodeid\":3,\"leaf\":-2.0},{\"nodeid\":4,\"leaf\":1e-7}]},\
         {\"nodeid\":2,\"leaf\":0.1}]}]\n"
    );
    let model = file(true, XG_BOOST);
    for part in [
        "\"left_children\":[1,3,-1,-1,-1]",
        "\"right_children\":[2,4,-1,-1,-1]",
        "\"parents\":[2147483647,0,0,1,1]",
        "\"split_conditions\":[0.25000003,-0.49999997,0.1,-2.0,1e-7]",
        "\"default_left\":[0,1,0,0,0]",
        "\"base_score\":\"0E0\"",
    ] {
        assert!(model.contains(part), "`{part}` is not in\n{model}");
    }
    assert_eq!(
        file(false, RANK_LIB_TREES),
        "## LambdaMART\n## Written by burn-rank; takes raw features\n## No. of trees = 1\n## No. of leaves = 3\n\n\
         <ensemble>\n\t<tree id=\"1\" weight=\"1.0\">\n<split>\n<feature> 3 </feature>\n<threshold> 0.25 </threshold>\n\
         <split pos=\"left\">\n<feature> 1 </feature>\n<threshold> -0.5 </threshold>\n<split pos=\"left\">\n\
         <output> -2.0 </output>\n</split>\n<split pos=\"right\">\n<output> 1e-7 </output>\n</split>\n</split>\n\
         <split pos=\"right\">\n<output> 0.1 </output>\n</split>\n</split>\n\t</tree>\n</ensemble>\n"
    );
    // Solr adds 1e-6 to 0.249999 and to -0.500001.
    let solr = file(false, SOLR);
    let tree = "{\"weight\":\"1\",\"root\":{\"feature\":\"feature_3\",\"threshold\":\"0.249999\",\"left\":\
                {\"feature\":\"feature_1\",\"threshold\":\"-0.500001\",\"left\":{\"value\":\"-2.0\"},\
                \"right\":{\"value\":\"1e-7\"}},\"right\":{\"value\":\"0.1\"}}}";
    assert!(solr.contains(tree), "{solr}");
    for (threshold, text) in [(0.25, 0.249999f32), (-0.5, -0.500001)] {
        assert_eq!(text + 1e-6, threshold);
    }
}

#[test]
fn members_become_one_sum_of_trees_in_every_format_that_accepts_them() {
    let (data, device) = (data(), Device::flex());
    let member = |(name, missing_left): (&str, bool)| Member {
        name: name.into(),
        weight: 1.0,
        ranker: ranker(NormalizerKind::None, trees(missing_left), &data),
    };
    let members = Members::new([("a", true), ("b", false)].map(member).into()).unwrap();
    let joined = Ranker::of_members(members.with_fixed_deviations(&data, &device).unwrap()).unwrap();
    for (format, trees) in [(LIGHT_GBM, "\nTree="), (XG_BOOST, "\"id\":"), (XG_BOOST_DUMP, "{\"nodeid\":0,")] {
        let text = String::from_utf8(joined.export(format).unwrap()).unwrap();
        assert_eq!(text.matches(trees).count(), 2, "{text}");
    }
    assert!(joined.export(RANK_LIB_TREES).is_err() && joined.export(ONNX).is_ok());
}

#[test]
fn exported_trees_carry_counts_and_gains() {
    let light_gbm = text(NormalizerKind::None, Model::Trees(counted()), LIGHT_GBM);
    // The mean of -2 and 1e-7, and the mean of that and .1.
    for line in [
        "split_gain=0.75 0.1",
        "leaf_value=-2.0 1e-7 0.1",
        "leaf_weight=0.25 1.25 0.5",
        "leaf_count=2 2 4",
        "internal_value=-0.449999975 -0.99999995",
        "internal_weight=2.0 1.5",
        "internal_count=8 4",
    ] {
        assert!(light_gbm.lines().any(|other| other == line), "`{line}` is not in\n{light_gbm}");
    }
    let xg_boost = text(NormalizerKind::None, Model::Trees(counted()), XG_BOOST);
    // Documents, not curvatures: contributions refer to the training data.
    for part in [
        "\"base_weights\":[-0.45,-0.99999994,0.1,-2.0,1e-7]",
        "\"loss_changes\":[0.75,0.1,0.0,0.0,0.0]",
        "\"sum_hessian\":[8.0,4.0,4.0,2.0,2.0]",
    ] {
        assert!(xg_boost.contains(part), "`{part}` is not in\n{xg_boost}");
    }
    for format in [ONNX, XG_BOOST_DUMP] {
        let bytes = |model| ranker(NormalizerKind::None, model, &data()).export(format).unwrap();
        assert_eq!(bytes(Model::Trees(counted())), bytes(trees(true)), "{format}");
    }
}

#[test]
fn what_a_system_cannot_explain_is_noted() {
    let notes = |trees: &TreeEnsemble, format| {
        ranker(NormalizerKind::None, Model::Trees(trees.clone()), &data()).export_notes(format)
    };
    let with = |change: fn(&mut NodeStatistics)| {
        let mut arrays = counted().arrays().clone();
        change(&mut arrays.statistics);
        TreeEnsemble::from_arrays(4, arrays).unwrap()
    };
    const UNKNOWN: &str = "the ranker does not say how many training documents reach its nodes";
    const EMPTY: &str = "no training document reaches some of the ranker's nodes";
    let contributions = |system: &str, why: &str| [format!("{system}'s contributions are not numbers: {why}")];
    let all = [LIGHT_GBM, XG_BOOST, ONNX, SOLR];
    assert!(
        all.iter()
            .all(|&format| notes(&counted(), format).is_empty() && notes(&TreeEnsemble::new(4), format).is_empty())
    );
    let none = with(|statistics| *statistics = NodeStatistics::default());
    assert_eq!(all.map(|format| notes(&none, format).len()), [2, 2, 0, 0]);
    let gains = with(|statistics| statistics.gain.clear());
    assert_eq!(
        [LIGHT_GBM, XG_BOOST].map(|format| notes(&gains, format).concat()),
        [
            "LightGBM's importances are 0: the ranker does not say what its splits gain",
            "XGBoost's importances by gain are 0: the ranker does not say what its splits gain",
        ]
    );
    // XGBoost does with curvatures.
    let weights = with(|statistics| statistics.count.clear());
    assert_eq!(notes(&weights, LIGHT_GBM), contributions("LightGBM", UNKNOWN));
    assert!(notes(&weights, XG_BOOST).is_empty());
    // A split that no document reaches, as trees of CatBoost have.
    let empty = with(|statistics| statistics.count = vec![8, 0, 8, 0, 0]);
    assert_eq!(notes(&empty, LIGHT_GBM), contributions("LightGBM", EMPTY));
    assert_eq!(notes(&empty, XG_BOOST), contributions("XGBoost", EMPTY));
    // XGBoost divides only by the documents of a split.
    let leaf = with(|statistics| statistics.count = vec![8, 4, 4, 4, 0]);
    assert_eq!(notes(&leaf, LIGHT_GBM), contributions("LightGBM", EMPTY));
    assert!(notes(&leaf, XG_BOOST).is_empty());
}

#[test]
fn weights_equal_those_worked_by_hand() {
    let weights = "{\"feature_1\":0.5,\"feature_2\":-2.0,\"feature_3\":0.0,\"feature_4\":1.0}";
    assert_eq!(text(NormalizerKind::None, linear(0.0), PLUGIN_LINEAR), format!("{weights}\n"));
    let solr = text(NormalizerKind::None, linear(0.0), SOLR);
    assert!(solr.contains("org.apache.solr.ltr.model.LinearModel") && solr.contains(weights), "{solr}");
    let scaled = text(NormalizerKind::ZScore, linear(0.0), SOLR);
    assert_eq!(scaled.matches("org.apache.solr.ltr.norm.StandardNormalizer").count(), 4, "{scaled}");
}

#[test]
fn what_a_format_cannot_hold_is_refused_by_name() {
    for format in [LIGHT_GBM, RANK_LIB_TREES, SOLR, XG_BOOST, XG_BOOST_DUMP] {
        let expected =
            "cannot hold the normalizer `query_min_max`: expected a normalizer that treats each document separately";
        assert!(error(NormalizerKind::QueryMinMax, trees(false), format).ends_with(expected), "{format}");
    }
    for format in [RANK_LIB_TREES, SOLR] {
        let message = error(NormalizerKind::None, trees(true), format);
        assert!(message.contains("splits at which missing values go left"), "{message}");
    }
    for format in [PLUGIN_LINEAR, SOLR] {
        let message = error(NormalizerKind::None, linear(0.5), format);
        assert!(message.contains("expected a linear ranker without a constant"), "{message}");
        let message = error(NormalizerKind::Log1p, linear(0.0), format);
        assert!(message.contains("cannot hold the normalizer `log1p`"), "{message}");
        let message = error(NormalizerKind::None, mlp(4), format);
        assert!(message.contains("cannot hold a multi-layer perceptron"), "{message}");
    }
    // No 32-bit float and 1e-6 add up to this threshold.
    let mut near_zero = TreeEnsemble::new(4);
    let split = Node::Split { feature: 0, threshold: 1e-17, left: 1, right: 2, missing_left: false };
    near_zero.push(&[split, Node::Leaf { value: 0.0 }, Node::Leaf { value: 1.0 }]).unwrap();
    assert_eq!(
        error(NormalizerKind::None, Model::Trees(near_zero), SOLR),
        "Solr JSON cannot hold the threshold 1e-17: expected one that is the sum of 1e-6 and a 32-bit float"
    );
}

/// Creates two splits of feature 1. The first treats 0 as missing; with `of_both`, the second does too.
fn zeros(of_both: bool) -> Model {
    Model::Trees(
        TreeEnsemble::from_arrays(
            4,
            TreeArrays {
                roots: vec![0],
                feature: vec![0, 0, u32::MAX, u32::MAX, u32::MAX],
                threshold: vec![0.5, -0.5, 0.0, 0.0, 0.0],
                left: vec![1, 3, 0, 0, 0],
                right: vec![2, 4, 0, 0, 0],
                value: vec![0.0, 0.0, 1.0, 2.0, 3.0],
                missing_left: vec![0],
                zero_missing: if of_both { vec![0, 1] } else { vec![0] },
                ..TreeArrays::default()
            },
        )
        .unwrap(),
    )
}

#[test]
fn a_zero_that_is_missing_is_held_or_refused() {
    let light_gbm = text(NormalizerKind::None, zeros(true), LIGHT_GBM);
    assert!(light_gbm.contains("decision_type=6 4\n"), "{light_gbm}");
    let ranker = ranker(NormalizerKind::None, zeros(true), &data());
    assert!(ranker.export(ONNX).is_ok());
    assert_eq!(
        error(NormalizerKind::None, zeros(false), ONNX),
        "ONNX cannot hold splits that disagree about 0: expected 0 that is missing at all splits of a feature or at none"
    );
    for format in [XG_BOOST, RANK_LIB_TREES, SOLR] {
        let message = error(NormalizerKind::None, zeros(true), format);
        assert!(message.contains("cannot hold splits at which 0 is missing"), "{message}");
    }
    let message = error(NormalizerKind::ZScore, zeros(true), LIGHT_GBM);
    assert!(message.contains("cannot hold splits at which 0 is missing"), "{message}");
}

#[test]
fn a_split_that_all_or_no_values_pass_is_written_for_xgboost() {
    let mut trees = TreeEnsemble::new(4);
    let split = Node::Split { feature: 0, threshold: f32::MAX, left: 1, right: 2, missing_left: false };
    trees.push(&[split, Node::Leaf { value: 1.0 }, Node::Leaf { value: 2.0 }]).unwrap();
    // Below the least finite float goes no value: all go to the other side, and a missing one to the first.
    let dump = text(NormalizerKind::None, Model::Trees(trees), XG_BOOST_DUMP);
    let split =
        "\"split_condition\":-3.4028235e38,\"yes\":1,\"no\":2,\"missing\":1,\"children\":[{\"nodeid\":1,\"leaf\":2.0}";
    assert!(dump.contains(split), "{dump}");
}
