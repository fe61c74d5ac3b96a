//! A ranker is saved as a safetensors file, so other languages can read the model's arrays. All other contents of the
//! file are JSON in its header.
//!
//! The header's `__metadata__` has one entry, `burn_rank`, which is the JSON object
//! `{"format", "kind", "config", "metadata", "sha256"}`. The checksum covers the other four fields, and the name, type,
//! shape and bytes of every array. Because of the checksum, a truncated or altered file causes an error instead of a
//! wrong score.

use std::collections::HashMap;
use std::fmt::Display;

use crate::json::Value;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ModelError;
use super::parts::{Array, Parts, Values};
use crate::file_kind::{FileKind, SAFETENSORS};
use crate::text::hexadecimal;

/// The newest version of the file format that this crate reads, and the one that it writes.
pub(super) const FORMAT: u32 = 1;

const KEY: &str = "burn_rank";

/// Returns the error for a file that holds something other than a ranker.
fn other_kind(kind: FileKind) -> ModelError {
    let instead = match kind {
        FileKind::Foreign { system: "ONNX", .. } => "; ONNX is written and not read",
        kind if kind.is_ranker() => "; `burn-rank convert` makes one of it",
        _ => "",
    };
    ModelError(format!("found {}, expected a ranker of burn-rank{instead}", kind.in_words()))
}

fn not_a_ranker(reason: impl Display) -> ModelError {
    ModelError(format!("not a ranker of burn-rank: {reason}"))
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    kind: String,
    config: Value,
    metadata: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

/// Returns the bytes of a file that holds a model and its metadata. The same input always gives the same bytes.
pub(super) fn encode(parts: &Parts, metadata: Value) -> Vec<u8> {
    let mut header =
        Header { format: FORMAT, kind: parts.kind.clone(), config: parts.config.clone(), metadata, sha256: None };
    let arrays: Vec<(&Array, (Dtype, Vec<u8>))> =
        parts.arrays.iter().map(|array| (array, encoded(&array.values))).collect();
    let entries =
        arrays.iter().map(|(array, (dtype, bytes))| (array.name.as_str(), *dtype, &array.shape[..], &bytes[..]));
    header.sha256 = Some(checksum(&header, entries));
    let views = arrays.iter().map(|(array, (dtype, bytes))| {
        let view = TensorView::new(*dtype, array.shape.clone(), bytes).expect("as many values as the shape says");
        (array.name.as_str(), view)
    });
    let text = serde_json::to_string(&header).expect("a JSON value is serializable");
    safetensors::serialize(views, Some(HashMap::from([(KEY.to_string(), text)]))).expect("every array is whole")
}

/// Reads a model and its metadata from the bytes of a file.
pub(super) fn decode(bytes: &[u8]) -> Result<(Parts, Value), ModelError> {
    match FileKind::of(bytes) {
        FileKind::Ranker | SAFETENSORS => {}
        other => return Err(other_kind(other)),
    }
    let (_, info) = SafeTensors::read_metadata(bytes)
        .map_err(|error| not_a_ranker(format!("it is cut off or damaged ({error})")))?;
    let text = info.metadata().as_ref().and_then(|metadata| metadata.get(KEY));
    let text = text.ok_or_else(|| not_a_ranker(format!("its header has no `{KEY}`")))?;
    // The format is read first, because the other fields may look different in a newer format.
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    let Format { format } = serde_json::from_str(text).map_err(not_a_ranker)?;
    if !(1..=FORMAT).contains(&format) {
        return Err(ModelError(format!(
            "file format {format}: this version reads formats 1 to {FORMAT}; update burn-rank for a newer one"
        )));
    }
    let mut header: Header = serde_json::from_str(text).map_err(not_a_ranker)?;
    let tensors = SafeTensors::deserialize(bytes).map_err(not_a_ranker)?;
    let views = tensors.tensors();
    let stated = header.sha256.take();
    let entries = views.iter().map(|(name, view)| (name.as_str(), view.dtype(), view.shape(), view.data()));
    if stated != Some(checksum(&header, entries)) {
        return Err(ModelError("damaged file: its checksum does not match its contents".into()));
    }
    let arrays = views
        .iter()
        .map(|(name, view)| {
            let values =
                values(view).ok_or_else(|| not_a_ranker(format!("array `{name}` is of type {:?}", view.dtype())))?;
            Ok(Array { name: name.clone(), shape: view.shape().to_vec(), values })
        })
        .collect::<Result<_, _>>()?;
    Ok((Parts { kind: header.kind, config: header.config, arrays }, header.metadata))
}

/// Computes the checksum over the header, without its `sha256` field, and over all arrays in the order of their names.
fn checksum<'a>(header: &Header, arrays: impl Iterator<Item = (&'a str, Dtype, &'a [usize], &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    hash.update(serde_json::to_vec(header).expect("a JSON value is serializable"));
    let mut arrays: Vec<_> = arrays.collect();
    arrays.sort_by_key(|entry| entry.0);
    for (name, dtype, shape, bytes) in arrays {
        hash.update(format!("\n{name} {dtype:?} {shape:?}\n"));
        hash.update(bytes);
    }
    hexadecimal(&hash.finalize())
}

fn encoded(values: &Values) -> (Dtype, Vec<u8>) {
    match values {
        Values::F32(values) => (Dtype::F32, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Values::F64(values) => (Dtype::F64, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
        Values::U32(values) => (Dtype::U32, values.iter().flat_map(|value| value.to_le_bytes()).collect()),
    }
}

fn values(view: &TensorView) -> Option<Values> {
    let data = view.data();
    Some(match view.dtype() {
        Dtype::F32 => Values::F32(data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()),
        Dtype::U32 => Values::U32(data.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()),
        Dtype::F64 => Values::F64(data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn parts() -> Parts {
        let array = |name: &str, shape: &[usize], values| Array { name: name.into(), shape: shape.into(), values };
        Parts {
            kind: "scorer".into(),
            config: json!({ "features": 2 }),
            arrays: vec![
                array("b.weight", &[2, 1], Values::F32(vec![0.1, -2.5])),
                array("a", &[1], Values::F64(vec![0.1])),
                array("c", &[0], Values::U32(vec![])),
            ],
        }
    }

    fn sorted(mut parts: Parts) -> Parts {
        parts.arrays.sort_by(|a, b| a.name.cmp(&b.name));
        parts
    }

    #[test]
    fn a_written_file_is_read_back() {
        let metadata = json!({ "seed": u64::MAX, "measures": { "ndcg@10": 0.1 + 0.2 } });
        let bytes = encode(&parts(), metadata.clone());
        assert_eq!(bytes, encode(&parts(), metadata.clone()));
        let (read, again) = decode(&bytes).unwrap();
        assert_eq!((sorted(read), again), (sorted(parts()), metadata));
    }

    #[test]
    fn a_damaged_file_never_gives_another_model() {
        let bytes = encode(&parts(), json!({ "seed": 1 }));
        let (whole, metadata) = decode(&bytes).unwrap();
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length]).is_err(), "truncated to {length}");
        }
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[position] ^= 1 << bit;
                // A flip in the white space that pads the header changes nothing that is read.
                if let Ok((parts, also)) = decode(&damaged) {
                    assert_eq!(
                        (sorted(parts), also),
                        (sorted(whole.clone()), metadata.clone()),
                        "bit {bit} of {position}"
                    );
                }
            }
        }
    }

    #[test]
    fn other_files_and_newer_formats_are_told_apart() {
        let hello = decode(b"hello").unwrap_err().to_string();
        assert!(hello.starts_with("found text of another kind, expected a ranker of burn-rank"), "{hello}");
        let onnx = decode(b"\x08\x08\x12\x04burn").unwrap_err().to_string();
        assert!(onnx.contains("found an ONNX model") && onnx.ends_with("; ONNX is written and not read"), "{onnx}");
        let none: [(&str, TensorView); 0] = [];
        let other = safetensors::serialize(none, None).unwrap();
        assert!(decode(&other).unwrap_err().to_string().contains("no `burn_rank`"));
        let none: [(&str, TensorView); 0] = [];
        let newer = HashMap::from([(KEY.to_string(), r#"{"format": 2, "other": 1}"#.to_string())]);
        let newer = safetensors::serialize(none, Some(newer)).unwrap();
        assert_eq!(
            decode(&newer).unwrap_err().to_string(),
            "file format 2: this version reads formats 1 to 1; update burn-rank for a newer one"
        );
    }
}
