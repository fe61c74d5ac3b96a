//! Recognizes the kind of a file by its first bytes, so a message about a wrong file can name it.

use std::io::Read;
use std::path::Path;

/// The number of bytes at the beginning of a file that are read to recognize its kind.
const BEGINNING: usize = 1 << 16;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "a variant has the name of its kind")]
pub enum FileKind {
    /// A ranker of this crate, complete or truncated.
    Ranker,
    /// A safetensors file that holds no ranker of this crate.
    Safetensors,
    Onnx,
    LightGbm,
    XgBoost,
    XgBoostBinary,
    XgBoostOld,
    XgBoostDump,
    CatBoost,
    CatBoostBinary,
    RankLib,
    Letor,
    TrecRun,
    Qrels,
    /// A table with a header and columns separated by commas, or by semicolons or bars, which no command reads.
    Csv,
    /// A table with a header and columns separated by tabs.
    Tsv,
    /// One number per line.
    Numbers,
    Configuration,
    Arrow,
    ArrowStream,
    Feather1,
    Parquet,
    EncryptedParquet,
    Gzip,
    Zstandard,
    Bzip2,
    Xz,
    Zip,
    Hdf5,
    Numpy,
    Pickle,
    Json,
    Html,
    Xml,
    Utf16,
    /// Text of no known kind.
    Text,
    /// Bytes of no known kind.
    Binary,
    Empty,
}

/// Bytes at the beginning of a file that identify its kind.
const MAGIC: [(&[u8], FileKind); 19] = [
    (b"ARROW1", FileKind::Arrow),
    (b"\xff\xff\xff\xff", FileKind::ArrowStream),
    (b"FEA1", FileKind::Feather1),
    (b"PAR1", FileKind::Parquet),
    (b"PARE", FileKind::EncryptedParquet),
    (b"CBM1", FileKind::CatBoostBinary),
    (b"{L\0\0\0\0\0\0\0", FileKind::XgBoostBinary),
    (b"binf", FileKind::XgBoostOld),
    (b"\x1f\x8b", FileKind::Gzip),
    (b"\x28\xb5\x2f\xfd", FileKind::Zstandard),
    (b"BZh", FileKind::Bzip2),
    (b"\xfd7zXZ\0", FileKind::Xz),
    (b"PK\x03\x04", FileKind::Zip),
    (b"\x89HDF", FileKind::Hdf5),
    (b"\x93NUMPY", FileKind::Numpy),
    (b"\xff\xfe", FileKind::Utf16),
    (b"\xfe\xff", FileKind::Utf16),
    (b"\x80\x04", FileKind::Pickle),
    (b"\x80\x05", FileKind::Pickle),
];

impl FileKind {
    /// Returns the kind of a file that begins with `bytes`; the first [`BEGINNING`] bytes are enough.
    pub fn of(bytes: &[u8]) -> Self {
        let beginning = &bytes[..bytes.len().min(BEGINNING)];
        // Before the others: the length of a header, in the first bytes, may be the beginning of another kind.
        if let Some(kind) = safetensors(beginning) {
            return kind;
        }
        if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| beginning.starts_with(magic)) {
            return *kind;
        }
        if is_onnx(beginning) {
            return Self::Onnx;
        }
        if beginning.contains(&0) {
            return Self::Binary;
        }
        let text = String::from_utf8_lossy(beginning);
        match of_text(text.trim_start_matches('\u{feff}').trim_start()) {
            // A character may have been cut at the end.
            Self::Text if text.trim_end_matches(char::REPLACEMENT_CHARACTER).contains(char::REPLACEMENT_CHARACTER) => {
                Self::Binary
            }
            kind => kind,
        }
    }

    /// Returns the kind of a file; `None` if the file cannot be read.
    pub fn of_file(path: &Path) -> Option<Self> {
        if !path.is_file() {
            return None;
        }
        let mut beginning = Vec::new();
        std::fs::File::open(path).ok()?.take(BEGINNING as u64).read_to_end(&mut beginning).ok()?;
        Some(Self::of(&beginning))
    }

    /// Returns the kind in words, for a message about the file that was found.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Ranker => "a ranker of burn-rank",
            Self::Safetensors => "a safetensors file that is no ranker",
            Self::Onnx => "an ONNX model",
            Self::LightGbm => "a ranker in LightGBM's text",
            Self::XgBoost => "a ranker in XGBoost's JSON",
            Self::XgBoostBinary => "a ranker in XGBoost's binary notation (UBJSON)",
            Self::XgBoostOld => "a ranker in the binary notation of old versions of XGBoost",
            Self::XgBoostDump => "a dump of XGBoost",
            Self::CatBoost => "a ranker in CatBoost's JSON",
            Self::CatBoostBinary => "a ranker in CatBoost's binary notation",
            Self::RankLib => "a ranker of RankLib",
            Self::Letor => "LETOR text",
            Self::TrecRun => "a TREC run",
            Self::Qrels => "TREC qrels",
            Self::Csv => "a table in CSV",
            Self::Tsv => "a table in TSV",
            Self::Numbers => "one number per line",
            Self::Configuration => "a configuration",
            Self::Arrow => "an Arrow file",
            Self::ArrowStream => "a stream of Arrow messages",
            Self::Feather1 => "a file of Feather's version 1",
            Self::Parquet => "a Parquet file",
            Self::EncryptedParquet => "an encrypted Parquet file",
            Self::Gzip => "a file compressed by gzip",
            Self::Zstandard => "a file compressed by Zstandard",
            Self::Bzip2 => "a file compressed by bzip2",
            Self::Xz => "a file compressed by xz",
            Self::Zip => "a ZIP archive",
            Self::Hdf5 => "an HDF5 file",
            Self::Numpy => "a NumPy array",
            Self::Pickle => "a pickled Python object",
            Self::Json => "JSON",
            Self::Html => "an HTML page",
            Self::Xml => "XML",
            Self::Utf16 => "text in UTF-16",
            Self::Text => "text of another kind",
            Self::Binary => "binary data of another kind",
            Self::Empty => "an empty file",
        }
    }

    /// Returns whether the file holds data to rank, or is compressed and may hold data to rank.
    pub fn is_data(self) -> bool {
        use FileKind::{Arrow, ArrowStream, Csv, EncryptedParquet, Feather1, Gzip, Letor, Parquet, Tsv};
        matches!(self, Letor | Csv | Tsv | Gzip | Arrow | ArrowStream | Feather1 | Parquet | EncryptedParquet)
    }

    /// Returns whether the file holds a ranker, of this crate or of another system.
    #[cfg(feature = "ranker")]
    pub fn is_ranker(self) -> bool {
        use FileKind::{
            CatBoost, CatBoostBinary, LightGbm, Onnx, RankLib, Ranker, XgBoost, XgBoostBinary, XgBoostDump, XgBoostOld,
        };
        let foreign = [LightGbm, XgBoost, XgBoostBinary, XgBoostOld, XgBoostDump, CatBoost, CatBoostBinary, RankLib];
        matches!(self, Ranker | Onnx) || foreign.contains(&self)
    }

    /// Returns whether the file is recognized as something other than a configuration.
    pub fn is_another_text(self) -> bool {
        !self.is_plain() && self != Self::Configuration
    }

    /// Returns whether naming this kind would tell the user nothing about the file.
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Text | Self::Empty | Self::Gzip)
    }
}

/// Recognizes a safetensors file, which begins with the length of its JSON header, followed by the header.
fn safetensors(beginning: &[u8]) -> Option<FileKind> {
    let (length, header) = beginning.split_first_chunk::<8>()?;
    // The longest header that safetensors reads has 100 MB.
    let is_length = (2..=100_000_000).contains(&u64::from_le_bytes(*length));
    if !is_length || header.first() != Some(&b'{') {
        return None;
    }
    let is_ours = memchr::memmem::find(header, b"\"burn_rank\"").is_some();
    Some(if is_ours { FileKind::Ranker } else { FileKind::Safetensors })
}

/// Recognizes an ONNX model: a Protocol Buffers message that starts with a small version number in field 1. The next
/// field must also be one that the ONNX model format defines.
fn is_onnx(beginning: &[u8]) -> bool {
    matches!(beginning, [0x08, 1..=32, 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42, ..])
}

fn of_text(text: &str) -> FileKind {
    let has = |keys: &[&str]| keys.iter().any(|key| text.contains(&format!("\"{key}\"")));
    match text.chars().next() {
        None => return FileKind::Empty,
        Some('{') if has(&["learner"]) && has(&["gradient_booster", "learner_model_param"]) => {
            return FileKind::XgBoost;
        }
        Some('{') if has(&["features_info", "float_features", "oblivious_trees"]) => return FileKind::CatBoost,
        Some('[') if has(&["nodeid"]) => return FileKind::XgBoostDump,
        Some('<') if text.contains("<ensemble") => return FileKind::RankLib,
        Some('<') if ["<!doctype html", "<html"].iter().any(|tag| starts_with(text, tag)) => return FileKind::Html,
        Some('<') => return FileKind::Xml,
        Some('#') if text.starts_with("##") => return FileKind::RankLib,
        Some('t') if text.lines().next().map(str::trim_end) == Some("tree") => return FileKind::LightGbm,
        _ => {}
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let Some(first) = lines.next() else { return FileKind::Text };
    let fields: Vec<&str> = first.split_ascii_whitespace().take(8).collect();
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_value = |text: &str| text.split_once(':').is_some_and(|(index, _)| index.parse::<u64>().is_ok());
    match fields[..] {
        [_, second, ..] if second.starts_with("qid:") || is_value(second) => FileKind::Letor,
        [_, second, _, rank, score, _, ..]
            if second.eq_ignore_ascii_case("Q0") && is_number(rank) && is_number(score) =>
        {
            FileKind::TrecRun
        }
        [_, "0" | "Q0", _, relevance] if relevance.parse::<i32>().is_ok() => FileKind::Qrels,
        [number] if is_number(number) => FileKind::Numbers,
        _ if is_key_or_table(first) => FileKind::Configuration,
        _ if is_json(first) => FileKind::Json,
        _ if has_header(text, '\t') => FileKind::Tsv,
        _ if [',', ';', '|'].into_iter().any(|separator| has_header(text, separator)) => FileKind::Csv,
        _ => FileKind::Text,
    }
}

/// Returns whether a text begins with a row of column names, followed by a row with as many values.
fn has_header(text: &str, separator: char) -> bool {
    let mut lines = text.lines().filter(|line| !line.is_empty());
    let (Some(header), Some(row)) = (lines.next(), lines.next()) else { return false };
    let fields = |line: &str| {
        let mut is_quoted = false;
        let is_end = |c: char| {
            is_quoted ^= c == '"';
            c == separator && !is_quoted
        };
        line.split(is_end).map(|field| field.trim().trim_matches('"').to_owned()).collect::<Vec<_>>()
    };
    let (names, values) = (fields(header), fields(row));
    names.len() > 1 && names.len() == values.len() && names.iter().all(|name| name.parse::<f64>().is_err())
}

/// Returns whether a line begins a JSON object or list. A JSON list begins with a value; a TOML table begins with a
/// name.
fn is_json(line: &str) -> bool {
    let begins_value = |c: char| c.is_ascii_digit() || matches!(c, '[' | '{' | '"' | '-' | ']');
    match line.split_at_checked(1) {
        Some(("{", _)) => true,
        Some(("[", rest)) => rest.trim_start().chars().next().is_none_or(begins_value),
        _ => false,
    }
}

fn starts_with(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len()).is_some_and(|start| start.eq_ignore_ascii_case(beginning))
}

/// Returns whether a line of TOML is `[table]` or `key = value`.
fn is_key_or_table(line: &str) -> bool {
    let is_key = |text: &str| {
        let text = text.trim();
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"');
        text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '"') && text.chars().all(is_part)
    };
    let table = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
    table.is_some_and(is_key) || line.split_once('=').is_some_and(|(key, _)| is_key(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_by_how_they_begin() {
        for (bytes, kind) in [
            (&b""[..], FileKind::Empty),
            (b" \n", FileKind::Empty),
            (b"0 qid:1 1:0.5\n", FileKind::Letor),
            (b"# comment\n\n2 qid:a # doc\n", FileKind::Letor),
            (b"1 1:0.5 2:1\n", FileKind::Letor),
            (b"\xef\xbb\xbf1 qid:1 1:0.5\r\n", FileKind::Letor),
            (b"301 Q0 d1 1 2.5 tag\n", FileKind::TrecRun),
            (b"301 0 d1 2\n", FileKind::Qrels),
            (b"0.25\n-1e3\n", FileKind::Numbers),
            (b"name = \"a\"\n[data]\n", FileKind::Configuration),
            (b"# what\n[data.synthetic]\nfeatures = 3\n", FileKind::Configuration),
            (b"{\"scores\": [1]}\n", FileKind::Json),
            (b"[1, 2]", FileKind::Json),
            (b"[learner\nepochs = 1\n", FileKind::Text),
            (b"<!DOCTYPE html>", FileKind::Html),
            (b"<ensemble>", FileKind::RankLib),
            (b"## LambdaMART\n", FileKind::RankLib),
            (b"<a/>", FileKind::Xml),
            (b"tree\nversion=v4\n", FileKind::LightGbm),
            (b"{\"learner\": {\"gradient_booster\": {}}}", FileKind::XgBoost),
            (b"{\"command\": \"train\", \"config\": {\"learner\": {}}}", FileKind::Json),
            (b"{\"oblivious_trees\": []}", FileKind::CatBoost),
            (b"[{\"nodeid\": 0}]", FileKind::XgBoostDump),
            (b"\x08\x08\x12\x09burn-rank", FileKind::Onnx),
            (b"PAR1\x15\x04", FileKind::Parquet),
            (b"\xff\xff\xff\xff\x10", FileKind::ArrowStream),
            (b"\xff\xfe1\0", FileKind::Utf16),
            (b"\x1f\x8b\x08", FileKind::Gzip),
            (b"\x0a\0\0\0\0\0\0\0{\"burn_rank\":1}", FileKind::Ranker),
            (b"\x0a\0\0\0\0\0\0\0{\"weight\":{}}", FileKind::Safetensors),
            (b"a,b,c\n1,2,3\n", FileKind::Csv),
            (b"label\tquery\tf\r\n1\ta\t\r\n", FileKind::Tsv),
            (b"label,query,title\n1,a,\"cats, dogs\"\n", FileKind::Csv),
            (b"Hello, world\nof text.\n", FileKind::Text),
            (b"label;query;f\n1;a;0,5\n", FileKind::Csv),
            (b"label|query|f\n1|a|2\n", FileKind::Csv),
            (b"1,2\n3,4\n", FileKind::Text),
            (b"a,b,c\n1,2\n", FileKind::Text),
            (b"\x01\0\x02", FileKind::Binary),
            (b"caf\xe9 au lait\n", FileKind::Binary),
        ] {
            assert_eq!(FileKind::of(bytes), kind, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_header_of_any_length_is_that_of_a_ranker() {
        for length in [0x0480u64, 0x0580, 0x8b1f, 0xfeff, 0xfffe, 0x04034b50] {
            let mut bytes = length.to_le_bytes().to_vec();
            bytes.extend_from_slice(b"{\"__metadata__\":{\"burn_rank\":\"{}\"}}");
            assert_eq!(FileKind::of(&bytes), FileKind::Ranker, "{length:#x}");
        }
    }
}
