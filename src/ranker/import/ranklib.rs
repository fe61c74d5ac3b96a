//! Imports RankLib's XML format for MART and LambdaMART. The file starts with comment lines, the first of which names
//! the learner. They are followed by an `ensemble` element with weighted `tree` elements.
//!
//! A split compares values in single precision and sends a document left if `x <= threshold`. A missing value counts
//! as 0. RankLib rounds the score to single precision after each tree. RankLib numbers features from 1, just like the
//! data. RankLib's file does not state the number of features, so features with higher numbers than any split uses are
//! ignored.

use std::fmt::Display;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::entry::*;

pub(super) const ENTRY: ImportEntry = ImportEntry {
    title: ["RankLib", "XML"],
    row: "RankLib | `-save NAME.xml`, of LambdaMART or MART | `x <= t`, 32 bits; NaN counts as 0 | weighted sums \
        in 32 bits",
    others: &[],
    decode,
};

/// The characters that start a comment line in a RankLib file.
const COMMENT: &str = "##";

/// Learners whose rankers are weighted sums of trees.
const LEARNERS: [&str; 2] = ["LambdaMART", "MART"];

/// The deepest accepted nesting of splits. It is much deeper than the trees that RankLib grows.
const DEEPEST: usize = 10_000;

fn decode(text: &str) -> Result<Imported, String> {
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let learner = first.strip_prefix(COMMENT).map(str::trim);
    let is_known = learner.is_none_or(|name| LEARNERS.contains(&name));
    let learner = learner.unwrap_or_default();
    let expected = "LambdaMART or MART, whose rankers are weighted sums of trees";
    supported(is_known, format_args!("the learner `{learner}`"), expected)?;
    // Only comments may precede the XML.
    let start = text.find('<').unwrap_or(text.len());
    for line in text[..start].lines() {
        let is_comment = line.trim().is_empty() || line.trim().starts_with(COMMENT);
        let expected = format_args!("lines that begin with `{COMMENT}`, then <ensemble>");
        allowed(is_comment, "the file", format_args!("`{line}`"), expected)?;
    }
    let mut parser = Parser { reader: Reader::from_str(&text[start..]), text, start };
    let trees = parser.ensemble()?;
    let features = trees.features_in_use();
    Ok(Imported {
        trees: trees.finish(features, Sums::Single)?,
        feature_names: None,
        about: json!({ "objective": learner, "other_features": "ignored" }),
    })
}

struct Parser<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    /// The position in the text where the XML starts.
    start: usize,
}

/// A `split` element whose end tag has not been read yet.
#[derive(Default)]
struct Open {
    /// The index of this split among the nodes of the tree.
    node: usize,
    feature: Option<u32>,
    threshold: Option<f32>,
    children: Vec<usize>,
    output: Option<f32>,
}

impl<'a> Parser<'a> {
    fn refuse<T>(&self, found: impl Display, expected: impl Display) -> Result<T, String> {
        let at = (self.start + self.reader.buffer_position() as usize).min(self.text.len());
        let line = 1 + self.text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count();
        Err(content(format!("line {line}"), found, expected))
    }

    /// Returns the next event other than blank text or a comment.
    fn next(&mut self) -> Result<Event<'a>, String> {
        loop {
            match self.reader.read_event() {
                Ok(Event::Comment(_) | Event::Decl(_)) => {}
                Ok(Event::Text(text)) if text.trim().is_empty() => {}
                Ok(event) => return Ok(event),
                Err(error) => return self.refuse(format!("{error}"), "XML"),
            }
        }
    }

    fn ensemble(&mut self) -> Result<TreeList, String> {
        match self.next()? {
            Event::Start(tag) if tag.name().0 == "ensemble" => {}
            other => return self.refuse(words(&other), "<ensemble>"),
        }
        let mut trees = TreeList::default();
        loop {
            match self.next()? {
                Event::Start(tag) if tag.name().0 == "tree" => {
                    let weight = self.weight(&tag)?;
                    trees.push(&self.tree(weight)?, &NodeStatistics::default())?;
                }
                Event::End(tag) if tag.name().0 == "ensemble" => break,
                other => return self.refuse(words(&other), "<tree> or </ensemble>"),
            }
        }
        match self.next()? {
            Event::Eof => Ok(trees),
            other => self.refuse(words(&other), "the end of the file"),
        }
    }

    fn weight(&self, tag: &BytesStart) -> Result<f32, String> {
        let weight = tag.try_get_attribute("weight").ok().flatten();
        match weight.as_ref().map(|weight| weight.value.trim().parse::<f32>()) {
            Some(Ok(weight)) if weight.is_finite() => Ok(weight),
            _ => self.refuse("a tree without a weight", "<tree id=\"1\" weight=\"0.1\">"),
        }
    }

    /// Reads the nodes of one tree up to its end tag.
    fn tree(&mut self, weight: f32) -> Result<Vec<ForeignNode>, String> {
        let mut nodes = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        loop {
            match self.next()? {
                Event::Start(tag) => match (tag.name().0, open.last_mut()) {
                    ("split", _) => {
                        if open.len() >= DEEPEST || open.is_empty() && !nodes.is_empty() {
                            return self.refuse("<split>", "the end of the tree");
                        }
                        if let Some(parent) = open.last_mut() {
                            // As in RankLib, the order decides: the left child comes first.
                            parent.children.push(nodes.len());
                        }
                        open.push(Open { node: nodes.len(), ..Open::default() });
                        nodes.push(ForeignNode::Leaf(0.0));
                    }
                    ("feature", Some(split)) => {
                        let id: u32 = self.number("feature")?;
                        let Some(feature) = id.checked_sub(1) else {
                            return self.refuse("feature 0", "a feature from 1");
                        };
                        split.feature = Some(feature);
                    }
                    ("threshold", Some(split)) => split.threshold = Some(self.number("threshold")?),
                    ("output", Some(split)) => split.output = Some(self.number("output")?),
                    (other, _) => {
                        return self.refuse(format!("<{other}>"), "<split>, <feature>, <threshold> or <output>");
                    }
                },
                Event::End(_) => match open.pop() {
                    Some(split) => nodes[split.node] = self.node(&split, weight)?,
                    // The reader checks that end tags match their start tags, so this one ends the tree.
                    None if nodes.is_empty() => return self.refuse("an empty tree", "<split>"),
                    None => return Ok(nodes),
                },
                other => return self.refuse(words(&other), "<split>"),
            }
        }
    }

    fn node(&self, split: &Open, weight: f32) -> Result<ForeignNode, String> {
        match (split.feature, split.threshold, &split.children[..], split.output) {
            (Some(feature), Some(threshold), &[left, right], None) if !threshold.is_nan() => {
                let (at_most, missing_left, zero_missing) = (threshold.min(f32::MAX), 0.0 <= threshold, false);
                Ok(ForeignNode::Split(ForeignSplit { feature, at_most, missing_left, zero_missing, left, right }))
            }
            (None, None, [], Some(output)) => Ok(ForeignNode::Leaf(f64::from(output) * f64::from(weight))),
            _ => self.refuse("another split", "a feature, a threshold and two splits, or an output"),
        }
    }

    /// Reads the content of an element as a number, then consumes the element's end tag.
    fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<T, String> {
        let number = match self.next()? {
            Event::Text(text) => text.trim().parse().ok(),
            _ => None,
        };
        match (number, self.next()?) {
            (Some(number), Event::End(_)) => Ok(number),
            _ => self.refuse(format!("another <{name}>"), format!("<{name}> with a number")),
        }
    }
}

/// Describes a piece of XML for an error message.
fn words(event: &Event) -> String {
    match event {
        Event::Start(tag) => format!("<{}>", tag.name().0),
        Event::Empty(tag) => format!("<{}/>", tag.name().0),
        Event::End(tag) => format!("</{}>", tag.name().0),
        Event::Eof => "the end of the file".into(),
        _ => "text".into(),
    }
}
