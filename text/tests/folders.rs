//! Folders of models: what is read is what is written, and everything else is refused by name.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use burn_rank_text::{Kind, ModelFolder, Reranker, TextScorer, TextTokenizer};
use serde_json::{Value, json};

use crate::tiny::{
    POSITIONS, WIDTH, WORDS, config, lists, names, read_tensors, weights, write_folder, write_folder_with,
};

#[test]
fn towers_are_saved_as_they_were_loaded() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (home.path().join("first"), home.path().join("second"));
    write_folder(&first);
    let device = Device::flex();
    let folder = ModelFolder::open(&first).unwrap();
    let loaded = folder.towers(Some(7.0), &device).unwrap();
    assert!(loaded.new.is_empty());
    folder.save(&loaded.model, 30, &second).unwrap();
    assert_eq!(read_tensors(&second.join("model.safetensors")), read_tensors(&first.join("model.safetensors")));
    let again = ModelFolder::open(&second).unwrap();
    assert_eq!(again.kind(None).unwrap(), Kind::Towers);
    assert_eq!(again.tokenizer(None).unwrap().max_tokens(), 30);
    let (one, other) = (loaded.model, again.towers(None, &device).unwrap().model);
    assert_eq!(other.scale(), 7.0);
    let scores = |folder: &ModelFolder, model| {
        Reranker::new(folder, model, Some(30), 64, Device::flex()).unwrap().scores(&lists(3), |_| {}).unwrap()
    };
    let scores = [scores(&folder, one), scores(&again, other)];
    assert_eq!(scores[0], scores[1]);
    assert!(scores[0].iter().flatten().all(|score| score.abs() <= 7.0001 && score.abs() > 1e-6));
    let json = |name: &str| -> Value { serde_json::from_slice(&fs::read(second.join(name)).unwrap()).unwrap() };
    assert_eq!(json("config.json")["architectures"], json!(["BertModel"]));
    assert_eq!(json("sentence_bert_config.json")["max_seq_length"], 30);
    assert_eq!(json("tokenizer_config.json")["model_max_length"], 30);
    assert_eq!(json("1_Pooling/config.json")["pooling_mode_mean_tokens"], true);
    assert_eq!(json("modules.json")[2]["type"], "sentence_transformers.models.Normalize");
}

#[test]
fn a_cross_encoder_has_hugging_faces_names() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (home.path().join("first"), home.path().join("second"));
    write_folder_with(&first, &weights(names(false)), config());
    let folder = ModelFolder::open(&first).unwrap();
    let loaded = folder.cross_encoder(&Device::flex()).unwrap();
    assert_eq!(
        loaded.new,
        ["pooler.dense.weight", "pooler.dense.bias", "classifier.weight", "classifier.bias"].map(String::from)
    );
    folder.save(&loaded.model, POSITIONS, &second).unwrap();
    let saved = read_tensors(&second.join("model.safetensors"));
    let mut expected: Vec<(String, Vec<usize>)> =
        names(true).into_iter().map(|(name, shape)| (format!("bert.{name}"), shape)).collect();
    expected.extend([("classifier.weight".to_string(), vec![1, WIDTH]), ("classifier.bias".to_string(), vec![1])]);
    expected.sort();
    let found: Vec<(String, Vec<usize>)> =
        saved.iter().map(|(name, (shape, _))| (name.clone(), shape.clone())).collect();
    assert_eq!(found, expected);
    for (name, values) in read_tensors(&first.join("model.safetensors")) {
        assert_eq!(saved[&format!("bert.{name}")], values, "{name}");
    }
    let about: Value = serde_json::from_slice(&fs::read(second.join("config.json")).unwrap()).unwrap();
    assert_eq!(about["architectures"], json!(["BertForSequenceClassification"]));
    assert_eq!(about["id2label"], json!({"0": "LABEL_0"}));
    assert_eq!(about["sentence_transformers"]["activation_fn"], "torch.nn.modules.linear.Identity");
    let again = ModelFolder::open(&second).unwrap();
    assert_eq!(again.kind(None).unwrap(), Kind::CrossEncoder);
    assert!(again.cross_encoder(&Device::flex()).unwrap().new.is_empty());
    let error = again.towers(None, &Device::flex()).unwrap_err().to_string();
    assert!(error.ends_with("2 tensors left over: classifier.bias, classifier.weight"), "{error}");
}

#[test]
fn older_spellings_and_places_are_read() {
    let home = tempfile::tempdir().unwrap();
    let old = weights(names(true)).into_iter().map(|(name, values)| {
        let name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
        (format!("bert.{name}"), values)
    });
    let mut old: crate::tiny::Tensors = old.collect();
    old.insert("bert.embeddings.position_ids".into(), (vec![1, 2], vec![0.0, 1.0]));
    // The heads with which BERT was trained.
    old.insert("cls.predictions.bias".into(), (vec![1], vec![0.0]));
    old.insert("cls.seq_relationship.weight".into(), (vec![1], vec![0.0]));
    write_folder_with(home.path(), &old, config());
    let folder = ModelFolder::open(home.path()).unwrap();
    let saved = home.path().join("saved");
    folder.save(&folder.towers(None, &Device::flex()).unwrap().model, POSITIONS, &saved).unwrap();
    assert_eq!(read_tensors(&saved.join("model.safetensors")), weights(names(true)));
}

#[test]
fn a_model_may_have_rows_without_words() {
    let home = tempfile::tempdir().unwrap();
    let (mut tensors, mut fields) = (weights(names(true)), config());
    let (shape, values) = tensors.get_mut("embeddings.word_embeddings.weight").unwrap();
    shape[0] += 8;
    values.extend([0.0; 8 * WIDTH]);
    fields["vocab_size"] = json!(WORDS + 8);
    write_folder_with(home.path(), &tensors, fields);
    let folder = ModelFolder::open(home.path()).unwrap();
    folder.tokenizer(None).unwrap();
    folder.towers(None, &Device::flex()).unwrap();
}

fn refused(change: impl FnOnce(&Path)) -> String {
    let home = tempfile::tempdir().unwrap();
    write_folder(home.path());
    change(home.path());
    let loaded = ModelFolder::open(home.path()).and_then(|folder| {
        folder.tokenizer(None)?;
        folder.towers(None, &Device::flex()).map(drop)
    });
    loaded.unwrap_err().to_string().replace(&home.path().display().to_string(), "DIR")
}

fn with_field(key: &'static str, value: Value) -> String {
    refused(move |folder| {
        let mut fields = config();
        fields[key] = value;
        fs::write(folder.join("config.json"), fields.to_string()).unwrap();
    })
}

#[test]
fn what_is_not_berts_is_refused_by_name() {
    let only = |found: &str, only: &str| {
        format!("DIR/config.json: {found}: expected \"{only}\", which is all that is supported")
    };
    assert_eq!(with_field("model_type", json!("roberta")), only("model_type = \"roberta\"", "bert"));
    assert_eq!(with_field("hidden_act", json!("gelu_new")), only("hidden_act = \"gelu_new\"", "gelu"));
    let relative = only("position_embedding_type = \"relative_key\"", "absolute");
    assert_eq!(with_field("position_embedding_type", json!("relative_key")), relative);
    assert_eq!(
        with_field("num_attention_heads", json!(5)),
        "DIR/config.json: num_attention_heads = 5: expected a divisor of hidden_size, which is 32"
    );
    assert_eq!(
        with_field("vocab_size", json!(WORDS - 1)),
        "DIR/tokenizer.json: found a word with the number 199, expected less than 199, the vocab_size of config.json"
    );
    for absent in ["config.json", "model.safetensors", "tokenizer.json"] {
        assert_eq!(
            refused(|folder| fs::remove_file(folder.join(absent)).unwrap()),
            format!("DIR: found no {absent}, expected config.json, model.safetensors and tokenizer.json")
        );
    }
    let error = refused(|folder| fs::write(folder.join("model.safetensors"), b"12345678").unwrap());
    assert!(error.starts_with("DIR: not a whole safetensors file"), "{error}");
}

#[test]
fn weights_that_do_not_fit_are_named() {
    let with = |change: fn(&mut crate::tiny::Tensors)| {
        let home = tempfile::tempdir().unwrap();
        let mut tensors = weights(names(true));
        change(&mut tensors);
        write_folder_with(home.path(), &tensors, config());
        let error = ModelFolder::open(home.path()).unwrap().towers(None, &Device::flex()).unwrap_err().to_string();
        error.split_once("config.json: ").unwrap().1.to_string()
    };
    let missing = with(|tensors| drop(tensors.remove("encoder.layer.1.output.dense.bias")));
    assert_eq!(missing, "1 tensor missing: encoder.layer.1.output.dense.bias");
    let left = with(|tensors| drop(tensors.insert("lm_head.bias".into(), (vec![1], vec![0.0]))));
    assert_eq!(left, "1 tensor left over: lm_head.bias");
    let wrong = with(|tensors| drop(tensors.insert("embeddings.LayerNorm.bias".into(), (vec![2], vec![0.0; 2]))));
    assert_eq!(wrong, "1 tensor wrong: embeddings.LayerNorm.bias is F32 [2], expected F32 [32]");
    let many = with(|tensors| tensors.retain(|name, _| !name.contains("layer.0")));
    assert!(many.starts_with("16 tensors missing: ") && many.ends_with(" and 10 more"), "{many}");
}

#[test]
fn a_model_without_a_head_needs_a_kind() {
    let home = tempfile::tempdir().unwrap();
    write_folder(home.path());
    let folder = ModelFolder::open(home.path()).unwrap();
    let error = folder.kind(None).unwrap_err().to_string();
    assert!(error.ends_with("has no head, expected \"towers\" or \"cross_encoder\""), "{error}");
    assert_eq!(folder.kind(Some(Kind::Towers)).unwrap(), Kind::Towers);
}

/// The tokenizer's own truncation to six tokens and its padding are off; a pair is cut where it is longest.
#[test]
fn texts_are_cut_to_the_tokens_that_were_asked_for() {
    let home = tempfile::tempdir().unwrap();
    write_folder(home.path());
    let folder = ModelFolder::open(home.path()).unwrap();
    let tokenizer = |most| TextTokenizer::from_file(&home.path().join("tokenizer.json"), folder.config(), most);
    let long: String = (5..60).map(|word| format!("w{word} ")).collect();
    let whole = tokenizer(None).unwrap();
    assert_eq!(whole.texts(&["w7 w8"]).unwrap()[0].ids(), [2, 7, 8, 3]);
    assert_eq!(whole.texts(&[&long]).unwrap()[0].ids().len(), POSITIONS);
    let ten = tokenizer(Some(10)).unwrap();
    let pair = |query: &str, document: &str| {
        let tokens = ten.pairs(query, &[document]).unwrap().remove(0);
        (tokens.ids().to_vec(), tokens.types().collect::<Vec<_>>())
    };
    assert_eq!(pair("w9", &long), (vec![2, 9, 3, 5, 6, 7, 8, 9, 10, 3], vec![0, 0, 0, 1, 1, 1, 1, 1, 1, 1]));
    assert_eq!(pair(&long, "W9").0, [2, 5, 6, 7, 8, 9, 10, 3, 9, 3]);
    assert_eq!(pair(&long, &long).0, [2, 5, 6, 7, 3, 5, 6, 7, 8, 3]);
    for most in [4, POSITIONS + 1] {
        let error = tokenizer(Some(most)).unwrap_err().to_string();
        assert_eq!(error, format!("max_tokens = {most}: expected from 5 to 48, the positions of the model"));
    }
}

/// A text gives the same next to longer ones, whatever the chunks.
#[test]
fn padding_and_chunks_change_no_score() {
    let home = tempfile::tempdir().unwrap();
    write_folder(home.path());
    let folder = ModelFolder::open(home.path()).unwrap();
    let lists = lists(5);
    let of = |chunk_tokens| {
        let device = Device::flex();
        let model = folder.towers(None, &device).unwrap().model;
        Reranker::new(&folder, model, None, chunk_tokens, device).unwrap().scores(&lists, |_| {}).unwrap()
    };
    let (one, many) = (of(1), of(10_000));
    let pairs = one.iter().flatten().zip(many.iter().flatten());
    assert!(
        pairs.clone().count() == 20 && pairs.clone().all(|(one, other)| (one - other).abs() < 2e-5),
        "{one:?} {many:?}"
    );
}
