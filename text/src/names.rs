//! The names of weights in Hugging Face's files, for BERT's kind.

/// The prefix of the encoder's names in models for a task.
pub(crate) const PREFIX: &str = "bert.";

/// The name of a parameter, for its path in a module of this package; `None` for a path that is no weight of BERT.
pub(crate) fn hugging_face_name(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.strip_prefix(PREFIX).unwrap_or(path).split('.').collect();
    let (last, place) = parts.split_last()?;
    let last = match *last {
        "gamma" => "weight",
        "beta" => "bias",
        other => other,
    };
    let place = match place {
        ["words"] => "embeddings.word_embeddings".to_string(),
        ["positions"] => "embeddings.position_embeddings".to_string(),
        ["types"] => "embeddings.token_type_embeddings".to_string(),
        ["norm"] => "embeddings.LayerNorm".to_string(),
        ["pooler"] => "pooler.dense".to_string(),
        ["classifier"] => "classifier".to_string(),
        ["encoder", "layers", layer, part @ ..] => {
            let part = match part {
                ["mha", "query"] => "attention.self.query",
                ["mha", "key"] => "attention.self.key",
                ["mha", "value"] => "attention.self.value",
                ["mha", "output"] => "attention.output.dense",
                ["norm_1"] => "attention.output.LayerNorm",
                ["pwff", "linear_inner"] => "intermediate.dense",
                ["pwff", "linear_outer"] => "output.dense",
                ["norm_2"] => "output.LayerNorm",
                _ => return None,
            };
            format!("encoder.layer.{layer}.{part}")
        }
        _ => return None,
    };
    Some(format!("{place}.{last}"))
}

/// The name without the prefix and the spelling of older files; `None` for what is no weight of a scorer, such as the
/// heads of BERT's own training.
pub(crate) fn normalized(name: &str) -> Option<String> {
    let name = name.strip_prefix(PREFIX).unwrap_or(name);
    if name == "embeddings.position_ids" || name.starts_with("cls.") {
        return None;
    }
    let name = match (name.strip_suffix("LayerNorm.gamma"), name.strip_suffix("LayerNorm.beta")) {
        (Some(place), _) => format!("{place}LayerNorm.weight"),
        (_, Some(place)) => format!("{place}LayerNorm.bias"),
        _ => name.to_string(),
    };
    Some(name)
}

/// Returns whether a weight has its rows and columns exchanged: burn multiplies from the left.
pub(crate) fn is_transposed(name: &str) -> bool {
    name.ends_with("weight") && !name.contains("LayerNorm") && !name.starts_with("embeddings.")
}
