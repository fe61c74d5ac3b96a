//! Helpers for the wording of error messages, and for text in terminals, HTML and Markdown.

use std::borrow::Cow;
use std::path::Path;

use crate::foreign_names::{ours, plain};

/// Returns whether a path is `-`, which means standard input for reading and standard output for writing.
pub fn is_standard_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Returns `text`, cut with an ellipsis after `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_string(),
        Some((end, _)) => format!("{}\u{2026}", &text[..end]),
    }
}

/// Returns `text` as one line that is safe to print on a terminal. Control characters, including line breaks and tabs,
/// become escapes, as in `\n` and `\u{1b}`. Characters that change the writing direction become escapes, too.
pub fn harmless(text: &str) -> Cow<'_, str> {
    escaped(text, acts_on_terminal)
}

/// Returns `text` as [`harmless`] does, but keeps its line breaks and tabs.
pub fn harmless_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts_on_terminal(c) && !matches!(c, '\n' | '\t'))
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escapes) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escapes(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a terminal interprets a character instead of printing it. Terminals interpret control characters
/// (C0, DEL, C1), as well as line and paragraph separators. They also interpret the embeddings, overrides and isolates
/// of Unicode's bidirectional algorithm (UAX 9).
pub(crate) fn acts_on_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns bytes as hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the known name that is most likely meant by `found`, if any is likely enough. A name that another tool uses
/// stands for ours. Otherwise the most similar name is chosen; a name that differs only in two swapped adjacent letters
/// is preferred.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(same) = known.iter().find(|name| **name != found && plain(name) == plain(found)) {
        return Some(same.to_string());
    }
    let mut is_foreign = false;
    if let Some(ours) = ours(found).inspect(|_| is_foreign = true).find(|name| known.contains(name)) {
        return Some(ours.to_string());
    }
    // What another tool means by the name is hardly meant by a similar one.
    let least = if is_foreign { 0.92 } else { 0.75 };
    let found = found.to_lowercase();
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let exchanged = sorted(&found) == sorted(&name) && strsim::damerau_levenshtein(&found, &name) == 1;
        if exchanged { 1.0 } else { strsim::jaro_winkler(&found, &name) }
    };
    known
        .into_iter()
        .map(|name| (similarity(name), name))
        .filter(|(similarity, _)| *similarity > least)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

fn sorted(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

/// Returns the expected names as a list in words: "`a` or `b`", "one of `a`, `b`, `c`".
pub(crate) fn one_of<N: AsRef<str>>(known: &[N]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("`{}`", name.as_ref())).collect();
    match &quoted[..] {
        [] => String::new(),
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        several => format!("one of {}", several.join(", ")),
    }
}

/// Returns the first eight names in quotes, as in "`a`, `b`, ... (12 in all)".
pub(crate) fn first_of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let more = if names.len() > SHOWN { format!(", ... ({} in all)", names.len()) } else { String::new() };
    let quoted: Vec<String> = names.take(SHOWN).map(in_quotes).collect();
    format!("{}{more}", quoted.join(", "))
}

/// Returns a name in quotes, cut with an ellipsis if it is long.
pub(crate) fn in_quotes(name: &str) -> String {
    format!("`{}`", shown(name).escape_debug())
}

/// Returns a number with its noun, as in `1 query` or `2 queries`. The caller gives the noun in the singular.
pub fn counted(count: usize, one: &str) -> String {
    format!("{count} {}", plural(count, one))
}

/// Returns the singular or plural of a noun for this count. Only nouns whose plural adds `s`, or replaces a final `y`
/// with `ies`, are supported.
pub fn plural(count: usize, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => one.to_string(),
        (_, Some(stem)) => format!("{stem}ies"),
        (_, None) => format!("{one}s"),
    }
}

/// The largest number of characters of a value that a message shows.
const SHOWN: usize = 200;

/// Returns a value as messages show it, cut with an ellipsis if it is long.
pub fn shown(value: &str) -> String {
    shortened(value, SHOWN)
}

/// Returns ``"; did you mean `x`?"``, or an empty string if there is no nearest name.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Escapes `text` for an element of HTML or SVG, or for a quoted attribute.
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

/// Escapes `text` for a line or a table cell of Markdown, so neither Markdown nor HTML interprets anything in it.
#[cfg(feature = "ranker")]
pub(crate) fn escape_markdown(text: &str) -> String {
    let text = harmless(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let in_word = before.is_alphanumeric() && rest.peek().is_some_and(|after| after.is_alphanumeric());
        if "\\`*[]<>&|~".contains(c) || (c == '_' && !in_word) {
            escaped.push('\\');
        }
        escaped.push(c);
        before = c;
    }
    escaped
}

/// Returns `text` as Markdown code where possible, and otherwise escapes it with [`escape_markdown`].
#[cfg(feature = "ranker")]
pub(crate) fn markdown_code(text: &str) -> String {
    match harmless(text) {
        same if same == text && !text.trim().is_empty() && !text.contains(['`', '|']) => format!("`{text}`"),
        _ => escape_markdown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_plural_of_their_things() {
        let of = |count| [counted(count, "query"), counted(count, "feature")].join(", ");
        assert_eq!([of(0), of(1), of(2)], ["0 queries, 0 features", "1 query, 1 feature", "2 queries, 2 features"]);
    }

    #[test]
    fn long_values_are_cut_with_an_ellipsis() {
        assert_eq!(shown(&"a".repeat(SHOWN)), "a".repeat(SHOWN));
        assert_eq!(shown(&"é".repeat(30_000)), format!("{}\u{2026}", "é".repeat(SHOWN)));
    }

    #[test]
    fn markup_is_text_after_escaping() {
        assert_eq!(escape_markup("<a b='c'>\0 \"&\""), "&lt;a b=&#39;c&#39;&gt;\u{fffd} &quot;&amp;&quot;");
    }

    #[test]
    fn what_acts_on_a_terminal_becomes_an_escape_and_the_rest_stays() {
        assert_eq!(harmless("\u{1b}]0;pwn\u{7}a\nb\tc\r"), r"\u{1b}]0;pwn\u{7}a\nb\tc\r");
        assert_eq!(harmless("\u{7f}\u{9b}31m\u{202e}\u{2066}\u{2028}"), r"\u{7f}\u{9b}31m\u{202e}\u{2066}\u{2028}");
        for plain in ["", "a b", "München \u{5e9}\u{200f} 東京 \u{1f600}", r"C:\data"] {
            assert!(matches!(harmless(plain), Cow::Borrowed(same) if same == plain));
        }
        assert_eq!(harmless_lines("a\tb\nc\u{1b}\r\n"), "a\tb\nc\\u{1b}\\r\n");
    }

    #[cfg(feature = "ranker")]
    #[test]
    fn markdown_is_text_after_escaping() {
        assert_eq!(escape_markdown("<b>[a](x)</b> | *_b_* &lt; `c`"), r"\<b\>\[a\](x)\</b\> \| \*\_b\_\* \&lt; \`c\`");
        assert_eq!(escape_markdown("my_run-1.5\n# no title\u{1b}"), r"my_run-1.5\\n# no title\\u{1b}");
        assert_eq!(["trec_eval", "a`b", "a|b", "a\n"].map(markdown_code), ["`trec_eval`", r"a\`b", r"a\|b", r"a\\n"]);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        assert_eq!(nearest("aprox_ndcg", ["approx_ndcg", "list_net"]), Some("approx_ndcg".to_string()));
        assert_eq!(nearest("zzz", ["approx_ndcg", "list_net"]), None);
        assert_eq!(nearest("mpa", ["map", "ap", "pair_accuracy", "opa"]), Some("map".to_string()));
        assert_eq!(nearest("batch", ["patience", "batch_queries"]), Some("batch_queries".to_string()));
        assert_eq!(nearest("ApproxNDCG", ["approx_ap", "approx_ndcg"]), Some("approx_ndcg".to_string()));
    }

    #[test]
    fn a_name_of_another_tool_suggests_ours() {
        for (found, known, expected) in [
            ("batch_size", &["batch_cells", "batch_queries"][..], Some("batch_queries")),
            ("rank_xendcg", &["rank_net", "xe_ndcg"], Some("xe_ndcg")),
            ("rank:ndcg", &["rank_net", "lambda_ndcg"], Some("lambda_ndcg")),
            ("lambdamart", &["list_mle", "lambda_ndcg"], Some("lambda_ndcg")),
            ("lambdamart", &["ada_rank", "boosted_trees"], Some("boosted_trees")),
            ("lr", &["learning_rate"], Some("learning_rate")),
            ("transformer", &["linear", "attention"], Some("attention")),
            ("ListNetLoss", &["list_net"], Some("list_net")),
            // Known elsewhere only.
            ("num_leaves", &["learning_rate", "epochs"], None),
        ] {
            assert_eq!(nearest(found, known.iter().copied()).as_deref(), expected, "{found}");
        }
    }
}
