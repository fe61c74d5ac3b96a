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

    /// Returns the name that appears in the ink's CSS classes, `stroke-NAME` and `fill-NAME`.
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
    Ink::ALL.iter().fold(svg.to_string(), |svg, ink| {
        let color = match ink {
            Ink::Text => "#5a6470",
            Ink::Axis => "#adb1b7",
            Ink::Grid => "#dde1e6",
            Ink::Mark => "#6b7480",
            Ink::Train => "#1f6fb5",
            Ink::Validation => "#b4430a",
            Ink::Test => "#0b7a5c",
            Ink::Surrogate => "#7a4fb5",
            Ink::Objective => "#4b5560",
        };
        ["stroke", "fill"].iter().fold(svg, |svg, what| {
            svg.replace(&format!("class=\"{what}-{}\"", ink.name()), &format!("{what}=\"{color}\""))
        })
    })
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
