//! Words for error messages, and text for markup.

#[cfg(feature = "experiment")]
use std::path::Path;

/// Whether a path is `-`: standard input where it is read, standard output where it is written.
#[cfg(feature = "cli")]
pub(crate) fn is_standard_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How a text file begins: at most `bytes` bytes; none where it cannot be read as text.
#[cfg(feature = "experiment")]
pub(crate) fn beginning(path: &Path, bytes: usize) -> Option<String> {
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::open(path).ok()?, bytes as u64), &mut head)
        .ok()?;
    // A character may have been cut.
    let whole = match std::str::from_utf8(&head) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        _ => head.len(),
    };
    head.truncate(whole);
    String::from_utf8(head).ok()
}

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The known name nearest to `found`, if any is near enough to be meant; first of all one with two letters exchanged.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let found = found.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let exchanged = sorted(&found) == sorted(&name) && strsim::damerau_levenshtein(&found, &name) == 1;
        if exchanged { 1.0 } else { strsim::jaro_winkler(&found, &name) }
    };
    known
        .into_iter()
        .map(|name| (similarity(name), name))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

fn sorted(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// `"; did you mean `x`?"`, or nothing.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// serde's message in the words of a configuration file; of an unknown name with the nearest known one.
pub fn with_nearest(message: &str) -> String {
    match unknown_name(message) {
        Some(found) => {
            let known = message.split('`').skip(3).step_by(2);
            format!("{message}{}", did_you_mean(&nearest(found, known)))
        }
        None => found_and_expected(message).unwrap_or_else(|| message.to_string()),
    }
}

/// The field or variant that serde's message is about, if it is about an unknown one.
pub fn unknown_name(message: &str) -> Option<&str> {
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    message.split('`').nth(1).filter(|_| unknown)
}

/// serde's `invalid type` or `invalid value`, without names of Rust's types.
fn found_and_expected(message: &str) -> Option<String> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let text = found.strip_prefix("string ");
    let found = match found {
        "map" => "a table",
        "sequence" => "a list",
        "null" | "unit value" => "nothing",
        "unit variant" => "a name alone",
        _ => text.or_else(|| found.split('`').nth(1)).unwrap_or(found),
    };
    let expected = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, 0 or above",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "a table",
        "string or map" => "a name, or a table with one key",
        "path string" => "a path",
        "newtype variant" => "a table with one key",
        "map with a single key" => return Some("found a table with no or several keys, expected one key".to_string()),
        _ if expected.starts_with("internally tagged enum") => {
            let kind = text.unwrap_or("\"...\"");
            return Some(format!("found {found}, expected a table with a kind, as in {{ kind = {kind} }}"));
        }
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    };
    Some(format!("found {found}, expected {expected}"))
}

/// `text` where markup is read: in an element of HTML or SVG, or in a quoted attribute.
pub fn escape_markup(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Control characters are not allowed in markup, not even escaped.
            c if c.is_control() && !matches!(c, '\n' | '\t') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text_after_escaping() {
        assert_eq!(escape_markup("<a b='c'>\0 \"&\""), "&lt;a b=&#39;c&#39;&gt;\u{fffd} &quot;&amp;&quot;");
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("aprox_ndcg", ["approx_ndcg", "list_net"]), Some("approx_ndcg".to_string()));
        assert_eq!(nearest("zzz", ["approx_ndcg", "list_net"]), None);
        assert_eq!(nearest("mpa", ["map", "ap", "pair_accuracy", "opa"]), Some("map".to_string()));
        assert_eq!(nearest("batch", ["patience", "batch_queries"]), Some("batch_queries".to_string()));
    }

    #[test]
    fn messages_have_no_names_of_types() {
        for (message, expected) in [
            ("invalid type: string \"3\", expected usize", "found \"3\", expected a whole number, 0 or above"),
            ("invalid value: integer `-3`, expected u64", "found -3, expected a whole number, 0 or above"),
            ("invalid type: floating point `2.5`, expected a sequence", "found 2.5, expected a list"),
            ("invalid type: map, expected f64", "found a table, expected a number"),
            (
                "invalid type: unit variant, expected newtype variant",
                "found a name alone, expected a table with one key",
            ),
            (
                "invalid type: string \"sgd\", expected internally tagged enum OptimizerConfig",
                "found \"sgd\", expected a table with a kind, as in { kind = \"sgd\" }",
            ),
            ("unknown field `noms`, expected `norm`", "unknown field `noms`, expected `norm`; did you mean `norm`?"),
            (
                "invalid value: map, expected map with a single key",
                "found a table with no or several keys, expected one key",
            ),
            ("missing field `name`", "missing field `name`"),
        ] {
            assert_eq!(with_nearest(message), expected);
        }
    }
}
