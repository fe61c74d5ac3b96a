//! Words for error messages, and text for markup.

/// The known name nearest to `found`, if any is near enough to be meant.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&found.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name.to_string())
}

/// `"; did you mean `x`?"`, or nothing.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// serde's message about an unknown field or variant, with the nearest known name where one is near.
pub fn with_nearest(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let unknown = message.starts_with("unknown field") || message.starts_with("unknown variant");
    match names.split_first() {
        Some((found, known)) if unknown => format!("{message}{}", did_you_mean(&nearest(found, known.iter().copied()))),
        _ => message.to_string(),
    }
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
    }
}
