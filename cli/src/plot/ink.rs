//! `Ink` says what a line or an area shows; style sheets choose the color for each meaning. The `plotters` library
//! needs a color for every shape. Each ink therefore has a placeholder color, which is then replaced with a CSS class.

use plotters::style::RGBColor;

/// The subject of a line or an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Labels of axes.
    Text,
    /// Axes.
    Axis,
    /// Lines behind the data.
    Grid,
    /// A line at one value, such as the selected round or a mean.
    Mark,
    /// The training queries.
    Train,
    /// The validation queries.
    Validation,
    /// The test queries.
    Test,
    /// The surrogate measure on the training queries.
    Surrogate,
    /// The learner's objective.
    Objective,
}

impl Ink {
    /// Every ink with its name and its color in the light scheme of pages, in the order of the variants.
    const ALL: [(Ink, &str, &str); 9] = [
        (Ink::Text, "text", "#5a6470"),
        (Ink::Axis, "axis", "#adb1b7"),
        (Ink::Grid, "grid", "#dde1e6"),
        (Ink::Mark, "mark", "#6b7480"),
        (Ink::Train, "train", "#1f6fb5"),
        (Ink::Validation, "validation", "#b4430a"),
        (Ink::Test, "test", "#0b7a5c"),
        (Ink::Surrogate, "surrogate", "#7a4fb5"),
        (Ink::Objective, "objective", "#4b5560"),
    ];

    /// Returns the name that appears in the ink's CSS classes, `stroke-NAME` and `fill-NAME`.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Returns the ink for a set of queries, such as `train` or `test`.
    pub fn from_set(set: &str) -> Self {
        match set {
            "train" => Ink::Train,
            "validation" => Ink::Validation,
            _ => Ink::Test,
        }
    }

    /// Returns the placeholder color of the ink.
    pub(super) fn color(self) -> RGBColor {
        RGBColor(0, 0, 1 + self as u8)
    }
}

/// Replaces the CSS class of each ink with its color in the light scheme of pages.
pub(super) fn to_colors(svg: &str) -> String {
    Ink::ALL.iter().fold(svg.to_string(), |svg, (_, name, color)| {
        let replaced =
            |svg: String, what: &str| svg.replace(&format!("class=\"{what}-{name}\""), &format!("{what}=\"{color}\""));
        replaced(replaced(svg, "stroke"), "fill")
    })
}

/// Replaces the placeholder color of each ink with a CSS class.
pub(super) fn to_classes(shapes: &str) -> String {
    let plain = shapes.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "");
    Ink::ALL.iter().fold(plain, |shapes, (ink, name, _)| {
        let RGBColor(r, g, b) = ink.color();
        let replaced = |shapes: String, what: &str| {
            shapes.replace(&format!("{what}=\"#{r:02X}{g:02X}{b:02X}\""), &format!("class=\"{what}-{name}\""))
        };
        replaced(replaced(shapes, "stroke"), "fill")
    })
}
