//! The model and the texts of the tests.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use burn_rank_text::{TextDocument, TextList};
use serde_json::{Value, json};

pub const LAYERS: usize = 2;
pub const WIDTH: usize = 32;
pub const INNER: usize = 64;
pub const POSITIONS: usize = 48;
pub const WORDS: usize = 200;

/// The names of a BERT as Hugging Face's `BertModel` has them, as candle's BERT reads them, with their shapes.
pub fn names(with_pooler: bool) -> Vec<(String, Vec<usize>)> {
    let mut names = vec![
        ("embeddings.word_embeddings.weight".to_string(), vec![WORDS, WIDTH]),
        ("embeddings.position_embeddings.weight".to_string(), vec![POSITIONS, WIDTH]),
        ("embeddings.token_type_embeddings.weight".to_string(), vec![2, WIDTH]),
        ("embeddings.LayerNorm.weight".to_string(), vec![WIDTH]),
        ("embeddings.LayerNorm.bias".to_string(), vec![WIDTH]),
    ];
    for layer in 0..LAYERS {
        for (name, shape) in [
            ("attention.self.query.weight", vec![WIDTH, WIDTH]),
            ("attention.self.query.bias", vec![WIDTH]),
            ("attention.self.key.weight", vec![WIDTH, WIDTH]),
            ("attention.self.key.bias", vec![WIDTH]),
            ("attention.self.value.weight", vec![WIDTH, WIDTH]),
            ("attention.self.value.bias", vec![WIDTH]),
            ("attention.output.dense.weight", vec![WIDTH, WIDTH]),
            ("attention.output.dense.bias", vec![WIDTH]),
            ("attention.output.LayerNorm.weight", vec![WIDTH]),
            ("attention.output.LayerNorm.bias", vec![WIDTH]),
            ("intermediate.dense.weight", vec![INNER, WIDTH]),
            ("intermediate.dense.bias", vec![INNER]),
            ("output.dense.weight", vec![WIDTH, INNER]),
            ("output.dense.bias", vec![WIDTH]),
            ("output.LayerNorm.weight", vec![WIDTH]),
            ("output.LayerNorm.bias", vec![WIDTH]),
        ] {
            names.push((format!("encoder.layer.{layer}.{name}"), shape));
        }
    }
    if with_pooler {
        names.push(("pooler.dense.weight".to_string(), vec![WIDTH, WIDTH]));
        names.push(("pooler.dense.bias".to_string(), vec![WIDTH]));
    }
    names
}

pub type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Random weights, the same each time, of about the size that trained ones have.
pub fn weights(names: Vec<(String, Vec<usize>)>) -> Tensors {
    let mut state = 7_u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    let tensor = |(name, shape): (String, Vec<usize>)| {
        let center = if name.ends_with("LayerNorm.weight") { 1.0 } else { 0.0 };
        let values = (0..shape.iter().product()).map(|_| center + 0.2 * draw()).collect();
        (name, (shape, values))
    };
    names.into_iter().map(tensor).collect()
}

pub fn write_tensors(path: &Path, tensors: &Tensors) {
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, values))| {
            (name.clone(), shape.clone(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    let views = bytes.iter().map(|(name, shape, bytes)| {
        let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, shape.clone(), bytes).unwrap();
        (name.clone(), view)
    });
    fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}

pub fn read_tensors(path: &Path) -> Tensors {
    let bytes = fs::read(path).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let values = |data: &[u8]| data.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    let tensors = tensors.tensors().into_iter();
    tensors.map(|(name, view)| (name, (view.shape().to_vec(), values(view.data())))).collect()
}

/// The words `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`, `[MASK]`, and `w5` to `w199`.
pub fn tokenizer() -> Value {
    let marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    let words = marks.iter().map(|mark| mark.to_string()).chain((marks.len()..WORDS).map(|word| format!("w{word}")));
    let vocabulary: serde_json::Map<String, Value> = words.zip(0..).map(|(word, id)| (word, json!(id))).collect();
    let added = |(id, mark): (usize, &&str)| json!({"id": id, "content": mark, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true});
    let special = |mark: &str, id: usize| json!({"id": mark, "ids": [id], "tokens": [mark]});
    let mark = |mark: &str, of: usize| json!({"SpecialToken": {"id": mark, "type_id": of}});
    let text = |name: &str, of: usize| json!({"Sequence": {"id": name, "type_id": of}});
    json!({
        "version": "1.0",
        // As many files have them; they are to be switched off.
        "truncation": {"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": marks.iter().enumerate().map(added).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0)],
            "pair": [mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0), text("B", 1), mark("[SEP]", 1)],
            "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

pub fn config() -> Value {
    json!({
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "vocab_size": WORDS,
        "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0,
    })
}

/// Writes a folder of Hugging Face's kind, without a head.
pub fn write_folder(folder: &Path) {
    write_folder_with(folder, &weights(names(true)), config());
}

pub fn write_folder_with(folder: &Path, tensors: &Tensors, config: Value) {
    fs::create_dir_all(folder).unwrap();
    write_tensors(&folder.join("model.safetensors"), tensors);
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string()).unwrap();
}

/// Lists in which the relevant document follows from the query by no rule, so that they have to be learned by heart.
pub fn lists(count: usize) -> Vec<TextList> {
    let word = |number: usize| format!("w{}", 5 + number % (WORDS - 5));
    let list = |at: usize| TextList {
        id: format!("q{at}"),
        query: format!("{} {}", word(at * 37 + 11), word(at * 53 + 7)),
        documents: (0..4)
            .map(|of| TextDocument {
                id: format!("d{at}-{of}"),
                text: (0..3 + of).map(|place| word(at * 29 + of * 71 + place * 13)).collect::<Vec<_>>().join(" "),
                relevance: f32::from(u8::from(of == at % 4)),
                score: Some(4.0 - of as f32),
            })
            .collect(),
    };
    (0..count).map(list).collect()
}

pub fn write_lists(path: &Path, lists: &[TextList]) {
    let mut bytes = Vec::new();
    burn_rank_text::data::write_lines(lists, &mut bytes).unwrap();
    fs::write(path, bytes).unwrap();
}
