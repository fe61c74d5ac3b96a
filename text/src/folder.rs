//! Models in folders, as Hugging Face and sentence-transformers have them.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::Device;
use burn_rank::json::{Map, Value, from_value};
use burn_rank::refusal::Refusal;
use burn_rank::workbench::atomic_file;
use burn_rank::workbench::json::json;
use burn_rank::workbench::text::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::bert::{Bert, BertConfig};
use crate::error::TextError;
use crate::scorer::{CrossEncoder, Kind, SCALE, TextScorer, Towers};
use crate::tokens::TextTokenizer;
use crate::weights::{Weights, to_bytes};

/// The weights.
pub const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
/// The parts of a model of sentence-transformers.
const MODULES: &str = "modules.json";
/// The way in which such a model makes the vector of a text from the vectors of its tokens.
const POOLING: &str = "1_Pooling/config.json";
/// The key of `config.json` for what only this package reads.
const OWN: &str = "burn_rank";
/// Files about words that are copied where they are.
const COPIED: [&str; 3] = [TOKENIZER, "special_tokens_map.json", "vocab.txt"];

/// What `config.json` says about a model that this package has trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Own {
    kind: Kind,
    max_tokens: usize,
    scale: f64,
}

/// A folder with a model: its configuration is checked, and its weights are in memory.
#[derive(Debug)]
pub struct ModelFolder {
    path: PathBuf,
    fields: Map,
    config: BertConfig,
    own: Option<Own>,
    bytes: Vec<u8>,
}

/// A model, with the names of the weights that the file lacks and that were made anew.
#[derive(Debug)]
pub struct Loaded<M> {
    /// The model.
    pub model: M,
    /// Hugging Face's names of the new weights.
    pub new: Vec<String>,
}

impl ModelFolder {
    /// Opens a folder of Hugging Face's kind, or one that this package has written.
    ///
    /// # Errors
    /// Returns an error that names a file which is absent or damaged, or a field of `config.json` that is not
    /// supported.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TextError> {
        let path = path.into();
        if !path.is_dir() {
            return Err(TextError::model(
                &path,
                format!("found no folder, expected one with {CONFIG}, {WEIGHTS} and {TOKENIZER}"),
            ));
        }
        if let Some(absent) = [CONFIG, WEIGHTS, TOKENIZER].into_iter().find(|name| !path.join(name).is_file()) {
            return Err(TextError::model(
                &path,
                format!("found no {absent}, expected {CONFIG}, {WEIGHTS} and {TOKENIZER}"),
            ));
        }
        let read = |name: &str| fs::read(path.join(name)).map_err(|error| TextError::model(&path.join(name), error));
        let of_config = |message: &dyn ToString| TextError::model(&path.join(CONFIG), message.to_string());
        let fields: Map = serde_json::from_slice(&read(CONFIG)?).map_err(|error| of_config(&error))?;
        let config = BertConfig::from_fields(&fields).map_err(|refusal| of_config(&refusal))?;
        let own = fields.get(OWN).cloned().map(from_value::<Own>).transpose();
        let own = own.map_err(|refusal| of_config(&refusal.under(OWN)))?;
        let bytes = read(WEIGHTS)?;
        Ok(Self { fields, config, own, bytes, path })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sizes of the model.
    pub fn config(&self) -> &BertConfig {
        &self.config
    }

    /// The hash of weights, configuration and tokenizer.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.bytes);
        hash.update(fs::read(self.path.join(TOKENIZER)).unwrap_or_default());
        hash.update(json!(self.fields).to_string());
        hexadecimal(&hash.finalize())
    }

    /// The kind of scorer: the one asked for, else the one that was trained, else a cross-encoder where there is a
    /// head.
    ///
    /// # Errors
    /// Returns a [`Refusal`] for a model without a head if no kind is asked for.
    pub fn kind(&self, asked: Option<Kind>) -> Result<Kind, TextError> {
        if let Some(kind) = asked.or(self.own.as_ref().map(|own| own.kind)) {
            return Ok(kind);
        }
        match self.weights()?.has("classifier.weight") {
            true => Ok(Kind::CrossEncoder),
            false => {
                let found = format!("{} has no head", self.path.display());
                Err(Refusal::fault("kind", format!("{found}, expected \"towers\" or \"cross_encoder\"")).into())
            }
        }
    }

    /// The tokenizer. Without `max_tokens` it cuts texts as in training, or to the positions of the model.
    ///
    /// # Errors
    /// As [`TextTokenizer::from_file`].
    pub fn tokenizer(&self, max_tokens: Option<usize>) -> Result<TextTokenizer, TextError> {
        let max_tokens = max_tokens.or(self.own.as_ref().map(|own| own.max_tokens));
        TextTokenizer::from_file(&self.path.join(TOKENIZER), &self.config, max_tokens)
    }

    /// Loads two towers; `scale` is by default the scale of the training, or else [`SCALE`].
    ///
    /// # Errors
    /// Returns an error that names the weights that are missing, left over, or of another shape or type. Also returns
    /// one for a model of sentence-transformers that takes something other than the mean of its tokens.
    pub fn towers(&self, scale: Option<f64>, device: &Device) -> Result<Loaded<Towers>, TextError> {
        self.check_mean()?;
        let scale = scale.or(self.own.as_ref().map(|own| own.scale)).unwrap_or(SCALE);
        let weights = self.weights()?;
        let bert = Bert::new(&self.config, weights.has("pooler.dense.weight"), device);
        let (model, new) = weights.into_module(Towers::new(bert, scale), &[], device)?;
        Ok(Loaded { model, new })
    }

    /// Checks that a model of sentence-transformers takes the mean of its tokens as the vector of a text.
    fn check_mean(&self) -> Result<(), TextError> {
        let read = |name: &str| fs::read_to_string(self.path.join(name)).unwrap_or_default();
        let pooling: Map = serde_json::from_str(&read(POOLING)).unwrap_or_default();
        let is_other = |(key, value): &(&String, &Value)| match key.as_str() {
            "pooling_mode" => value.as_str() != Some("mean"),
            "pooling_mode_mean_tokens" => false,
            key => key.starts_with("pooling_mode_") && value.as_bool() == Some(true),
        };
        let pooling = pooling.iter().find(is_other).map(|(key, value)| (POOLING, format!("{key} = {value}")));
        let dense = read(MODULES).contains(".Dense\"").then(|| (MODULES, "a dense layer".to_string()));
        let Some((file, found)) = pooling.or(dense) else { return Ok(()) };
        Err(TextError::model(&self.path.join(file), format!("found {found}, expected only the mean of the tokens")))
    }

    /// Loads a cross-encoder. A pooler or a head that the file lacks is made anew.
    ///
    /// # Errors
    /// As [`towers`](Self::towers).
    pub fn cross_encoder(&self, device: &Device) -> Result<Loaded<CrossEncoder>, TextError> {
        let may_be_new = ["pooler.", "classifier."];
        let (model, new) = self.weights()?.into_module(CrossEncoder::new(&self.config, device), &may_be_new, device)?;
        Ok(Loaded { model, new })
    }

    fn weights(&self) -> Result<Weights<'_>, TextError> {
        Weights::new(&self.path, &self.bytes)
    }

    /// Frees the memory of the file's bytes, after which no model can be loaded from this value.
    pub fn forget_weights(&mut self) {
        self.bytes = Vec::new();
    }

    /// Writes a model that was trained from this folder into another one. Adapters are merged into the weights.
    ///
    /// # Errors
    /// Returns [`TextError::Unwritable`] if a file cannot be written.
    pub fn save<S: TextScorer>(&self, model: &S, max_tokens: usize, folder: &Path) -> Result<(), TextError> {
        fs::create_dir_all(folder).map_err(TextError::unwritable(folder))?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join(name);
            atomic_file::replace(&path, bytes).map_err(TextError::unwritable(&path))
        };
        let write_json = |name: &str, value: Value| write(name, format!("{value:#}\n").as_bytes());
        for name in COPIED {
            if let Ok(bytes) = fs::read(self.path.join(name)) {
                write(name, &bytes)?;
            }
        }
        write_json("tokenizer_config.json", self.tokenizer_config(max_tokens))?;
        write_json(CONFIG, self.saved_config(model, max_tokens))?;
        if S::KIND == Kind::Towers {
            let module = |at: usize, path: &str, of: &str| json!({"idx": at, "name": at.to_string(), "path": path, "type": format!("sentence_transformers.models.{of}")});
            let modules = [
                module(0, "", "Transformer"),
                module(1, "1_Pooling", "Pooling"),
                module(2, "2_Normalize", "Normalize"),
            ];
            write_json(MODULES, json!(modules))?;
            write_json("sentence_bert_config.json", json!({"max_seq_length": max_tokens, "do_lower_case": false}))?;
            let pooling = folder.join("1_Pooling");
            fs::create_dir_all(&pooling).map_err(TextError::unwritable(&pooling))?;
            let mean = json!({
                "word_embedding_dimension": self.config.hidden_size,
                "pooling_mode_cls_token": false,
                "pooling_mode_mean_tokens": true,
                "pooling_mode_max_tokens": false,
                "pooling_mode_mean_sqrt_len_tokens": false,
            });
            write_json(POOLING, mean)?;
        }
        // Last: a folder with weights is whole.
        let merged = model.valid().materialize();
        let bytes = to_bytes(&merged, S::KIND == Kind::CrossEncoder);
        write(WEIGHTS, &bytes.map_err(|error| TextError::model(&folder.join(WEIGHTS), error))?)
    }

    fn tokenizer_config(&self, max_tokens: usize) -> Value {
        let found = fs::read(self.path.join("tokenizer_config.json")).ok();
        let mut fields: Map = found.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_else(|| {
            let marks = ["unk", "sep", "pad", "cls", "mask"];
            let marks = marks.map(|mark| (format!("{mark}_token"), json!(format!("[{}]", mark.to_uppercase()))));
            [("tokenizer_class".to_string(), json!("PreTrainedTokenizerFast"))].into_iter().chain(marks).collect()
        });
        fields.insert("model_max_length".into(), json!(max_tokens));
        fields.into()
    }

    fn saved_config<S: TextScorer>(&self, model: &S, max_tokens: usize) -> Value {
        let mut fields = self.fields.clone();
        let heads = ["id2label", "label2id", "num_labels", "sentence_transformers", "problem_type"];
        heads.iter().for_each(|key| drop(fields.shift_remove(*key)));
        let (architecture, about) = match S::KIND {
            Kind::Towers => ("BertModel", None),
            Kind::CrossEncoder => {
                let identity = json!({"activation_fn": "torch.nn.modules.linear.Identity"});
                let labels = [("id2label", json!({"0": "LABEL_0"})), ("label2id", json!({"LABEL_0": 0}))];
                ("BertForSequenceClassification", Some(labels.into_iter().chain([("sentence_transformers", identity)])))
            }
        };
        fields.insert("architectures".into(), json!([architecture]));
        fields.extend(about.into_iter().flatten().map(|(key, value)| (key.to_string(), value)));
        let own = Own { kind: S::KIND, max_tokens, scale: model.scale() };
        fields.insert(OWN.into(), json!(own));
        fields.into()
    }
}
