//! Inks, which say what is drawn instead of naming a color. The library plotters draws each ink in a placeholder color,
//! which a class then replaces in the SVG text.

use plotters::style::RGBColor;

/// The meaning of a stroke or a fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Labels of axes.
    Text,
    /// Axes.
    Axis,
    /// Lines behind the data.
    Grid,
    /// A line that marks a place, such as the selected round or a mean.
    Mark,
    /// The training queries.
    Train,
    /// The validation queries.
    Validation,
    /// The test queries.
    Test,
    /// A surrogate, on the training queries.
    Surrogate,
    /// The objective of a learner.
    Objective,
}

impl Ink {
    const ALL: [Ink; 9] = [
        Ink::Text,
        Ink::Axis,
        Ink::Grid,
        Ink::Mark,
        Ink::Train,
        Ink::Validation,
        Ink::Test,
        Ink::Surrogate,
        Ink::Objective,
    ];

    /// Returns the name in the ink's CSS classes, `stroke-NAME` and `fill-NAME`.
    pub fn name(self) -> &'static str {
        match self {
            Ink::Text => "text",
            Ink::Axis => "axis",
            Ink::Grid => "grid",
            Ink::Mark => "mark",
            Ink::Train => "train",
            Ink::Validation => "validation",
            Ink::Test => "test",
            Ink::Surrogate => "surrogate",
            Ink::Objective => "objective",
        }
    }

    /// Returns the ink of a set of queries by the name of the set.
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

/// Replaces the placeholder color of each ink with a CSS class.
pub(super) fn to_classes(shapes: &str) -> String {
    let plain = shapes.replace(" opacity=\"1\"", "").replace(" font-family=\"sans-serif\"", "");
    Ink::ALL.iter().fold(plain, |shapes, ink| {
        let RGBColor(r, g, b) = ink.color();
        let stroke = format!("stroke=\"#{r:02X}{g:02X}{b:02X}\"");
        let fill = format!("fill=\"#{r:02X}{g:02X}{b:02X}\"");
        let (stroked, filled) = (format!("class=\"stroke-{}\"", ink.name()), format!("class=\"fill-{}\"", ink.name()));
        shapes.replace(&stroke, &stroked).replace(&fill, &filled)
    })
}
