//! Recognizes the kind of a file by its first bytes, so a message about a wrong file can name it.

use std::io::Read;
use std::path::Path;

/// The number of bytes at the beginning of a file that are read to recognize its kind.
const BEGINNING: usize = 1 << 16;

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A ranker of this crate, complete or truncated.
    Ranker,
    /// A ranker of another system.
    Foreign {
        /// The name of the system.
        system: &'static str,
        /// The kind in words.
        words: &'static str,
    },
    /// LETOR text.
    Letor,
    /// A run in the format of TREC.
    TrecRun,
    /// Judgments in the format of TREC.
    Qrels,
    /// A table with a header. The columns are separated by tabs, or else by commas, semicolons or bars.
    Separated {
        /// Whether the columns are separated by tabs.
        by_tabs: bool,
    },
    /// A table that is read, in the format that the words name.
    Columnar(&'static str),
    /// A table in a format that is not read.
    UnreadTable(&'static str),
    /// One number per line.
    Numbers,
    /// A configuration.
    Configuration,
    /// JSON.
    Json,
    /// A file that is compressed by gzip.
    Gzip,
    /// Text of no known kind.
    Text,
    /// No bytes.
    Empty,
    /// Anything else, in words.
    Other(&'static str),
}

/// A safetensors file that holds no ranker of this crate.
pub(crate) const SAFETENSORS: FileKind = FileKind::Other("a safetensors file that is no ranker");

/// Bytes of no known kind.
pub(crate) const BINARY: FileKind = FileKind::Other("binary data of another kind");

const UTF_16: FileKind = FileKind::Other("text in UTF-16");
const PICKLE: FileKind = FileKind::Other("a pickled Python object");

const fn foreign(system: &'static str, words: &'static str) -> FileKind {
    FileKind::Foreign { system, words }
}

/// Bytes at the beginning of a file that identify its kind.
const MAGIC: [(&[u8], FileKind); 19] = [
    (b"ARROW1", FileKind::Columnar("an Arrow file")),
    (b"\xff\xff\xff\xff", FileKind::UnreadTable("a stream of Arrow messages")),
    (b"FEA1", FileKind::UnreadTable("a file of Feather's version 1")),
    (b"PAR1", FileKind::Columnar("a Parquet file")),
    (b"PARE", FileKind::UnreadTable("an encrypted Parquet file")),
    (b"CBM1", foreign("CatBoost", "a ranker in CatBoost's binary notation")),
    (b"{L\0\0\0\0\0\0\0", foreign("XGBoost", "a ranker in XGBoost's binary notation (UBJSON)")),
    (b"binf", foreign("XGBoost", "a ranker in the binary notation of old versions of XGBoost")),
    (b"\x1f\x8b", FileKind::Gzip),
    (b"\x28\xb5\x2f\xfd", FileKind::Other("a file compressed by Zstandard")),
    (b"BZh", FileKind::Other("a file compressed by bzip2")),
    (b"\xfd7zXZ\0", FileKind::Other("a file compressed by xz")),
    (b"PK\x03\x04", FileKind::Other("a ZIP archive")),
    (b"\x89HDF", FileKind::Other("an HDF5 file")),
    (b"\x93NUMPY", FileKind::Other("a NumPy array")),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
    (b"\x80\x04", PICKLE),
    (b"\x80\x05", PICKLE),
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
            return foreign("ONNX", "an ONNX model");
        }
        if beginning.contains(&0) {
            return BINARY;
        }
        let text = String::from_utf8_lossy(beginning);
        match of_text(text.trim_start_matches('\u{feff}').trim_start()) {
            // A character may have been cut at the end.
            Self::Text if text.trim_end_matches(char::REPLACEMENT_CHARACTER).contains(char::REPLACEMENT_CHARACTER) => {
                BINARY
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
            Self::Letor => "LETOR text",
            Self::TrecRun => "a TREC run",
            Self::Qrels => "TREC qrels",
            Self::Separated { by_tabs: false } => "a table in CSV",
            Self::Separated { by_tabs: true } => "a table in TSV",
            Self::Numbers => "one number per line",
            Self::Configuration => "a configuration",
            Self::Json => "JSON",
            Self::Gzip => "a file compressed by gzip",
            Self::Text => "text of another kind",
            Self::Empty => "an empty file",
            Self::Foreign { words, .. } | Self::Columnar(words) | Self::UnreadTable(words) | Self::Other(words) => {
                words
            }
        }
    }

    /// Returns whether the file holds data to rank, or is compressed and may hold data to rank.
    pub fn is_data(self) -> bool {
        use FileKind::{Columnar, Gzip, Letor, Separated, UnreadTable};
        matches!(self, Letor | Separated { .. } | Gzip | Columnar(_) | UnreadTable(_))
    }

    /// Returns whether the file holds a ranker, of this crate or of another system.
    #[cfg(feature = "ranker")]
    pub fn is_ranker(self) -> bool {
        matches!(self, Self::Ranker | Self::Foreign { .. })
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
    Some(if is_ours { FileKind::Ranker } else { SAFETENSORS })
}

/// Recognizes an ONNX model: a Protocol Buffers message that starts with a small version number in field 1. The next
/// field must also be one that the ONNX model format defines.
fn is_onnx(beginning: &[u8]) -> bool {
    matches!(beginning, [0x08, 1..=32, 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42, ..])
}

fn of_text(text: &str) -> FileKind {
    let has = |keys: &[&str]| keys.iter().any(|key| text.contains(&format!("\"{key}\"")));
    let ranklib = foreign("RankLib", "a ranker of RankLib");
    match text.chars().next() {
        None => return FileKind::Empty,
        Some('{') if has(&["learner"]) && has(&["gradient_booster", "learner_model_param"]) => {
            return foreign("XGBoost", "a ranker in XGBoost's JSON");
        }
        Some('{') if has(&["features_info", "float_features", "oblivious_trees"]) => {
            return foreign("CatBoost", "a ranker in CatBoost's JSON");
        }
        Some('[') if has(&["nodeid"]) => return foreign("XGBoost", "a dump of XGBoost"),
        Some('<') if text.contains("<ensemble") => return ranklib,
        Some('<') if ["<!doctype html", "<html"].iter().any(|tag| starts_with(text, tag)) => {
            return FileKind::Other("an HTML page");
        }
        Some('<') => return FileKind::Other("XML"),
        Some('#') if text.starts_with("##") => return ranklib,
        Some('t') if text.lines().next().map(str::trim_end) == Some("tree") => {
            return foreign("LightGBM", "a ranker in LightGBM's text");
        }
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
        _ if has_header(text, '\t') => FileKind::Separated { by_tabs: true },
        _ if [',', ';', '|'].into_iter().any(|separator| has_header(text, separator)) => {
            FileKind::Separated { by_tabs: false }
        }
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
            (b"<!DOCTYPE html>", FileKind::Other("an HTML page")),
            (b"<ensemble>", foreign("RankLib", "a ranker of RankLib")),
            (b"## LambdaMART\n", foreign("RankLib", "a ranker of RankLib")),
            (b"<a/>", FileKind::Other("XML")),
            (b"tree\nversion=v4\n", foreign("LightGBM", "a ranker in LightGBM's text")),
            (b"{\"learner\": {\"gradient_booster\": {}}}", foreign("XGBoost", "a ranker in XGBoost's JSON")),
            (b"{\"command\": \"train\", \"config\": {\"learner\": {}}}", FileKind::Json),
            (b"{\"oblivious_trees\": []}", foreign("CatBoost", "a ranker in CatBoost's JSON")),
            (b"[{\"nodeid\": 0}]", foreign("XGBoost", "a dump of XGBoost")),
            (b"\x08\x08\x12\x09burn-rank", foreign("ONNX", "an ONNX model")),
            (b"PAR1\x15\x04", FileKind::Columnar("a Parquet file")),
            (b"\xff\xff\xff\xff\x10", FileKind::UnreadTable("a stream of Arrow messages")),
            (b"\xff\xfe1\0", FileKind::Other("text in UTF-16")),
            (b"\x1f\x8b\x08", FileKind::Gzip),
            (b"\x0a\0\0\0\0\0\0\0{\"burn_rank\":1}", FileKind::Ranker),
            (b"\x0a\0\0\0\0\0\0\0{\"weight\":{}}", FileKind::Other("a safetensors file that is no ranker")),
            (b"a,b,c\n1,2,3\n", FileKind::Separated { by_tabs: false }),
            (b"label\tquery\tf\r\n1\ta\t\r\n", FileKind::Separated { by_tabs: true }),
            (b"label,query,title\n1,a,\"cats, dogs\"\n", FileKind::Separated { by_tabs: false }),
            (b"Hello, world\nof text.\n", FileKind::Text),
            (b"label;query;f\n1;a;0,5\n", FileKind::Separated { by_tabs: false }),
            (b"label|query|f\n1|a|2\n", FileKind::Separated { by_tabs: false }),
            (b"1,2\n3,4\n", FileKind::Text),
            (b"a,b,c\n1,2\n", FileKind::Text),
            (b"\x01\0\x02", FileKind::Other("binary data of another kind")),
            (b"caf\xe9 au lait\n", FileKind::Other("binary data of another kind")),
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
