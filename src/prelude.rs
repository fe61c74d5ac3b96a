//! The items that a ranking model usually needs, imported by `use burn_rank::prelude::*;`.
//!
//! The prelude contains every loss with its configuration, the trait that gives losses their `forward`, and the items
//! that select a loss by name. The prelude also contains [`Segments`] for flat scores, [`Lists`] with weights or a
//! teacher, the measures, and their conventions ([`Convention::preset`]). No name in the prelude collides with a name
//! in `burn::prelude`.
//!
//! The default [`Temperature`] of a loss, as in `SoftNdcgConfig::new()`, is chosen for training scorers from scratch.
//! `SoftNdcgConfig::paper()` uses the paper's temperature; `SoftNdcgConfig::new().with_sigma(0.5)` sets another one, in
//! units of the scores.
//!
//! ```
//! use burn::nn::{Linear, LinearConfig};
//! use burn::prelude::*;
//! use burn_rank::prelude::*;
//!
//! // A loss is a module without parameters, so a model can hold it.
//! #[derive(Module, Debug)]
//! struct MyModel {
//!     scores: Linear,
//!     loss: SoftNdcg,
//! }
//!
//! let device = Device::flex().autodiff();
//! let model = MyModel {
//!     scores: LinearConfig::new(4, 1).init(&device),
//!     loss: SoftNdcgConfig::new().with_k(Some(10)).init()?,
//! };
//! let documents = Tensor::<3>::ones([2, 5, 4], &device);
//! let labels = Tensor::<2>::from_floats([[0.0, 1.0, 0.0, 2.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]], &device);
//! let mask = mask_from_padding(Tensor::<2>::zeros([2, 5], &device).greater_elem(0.5)); // no padding
//! let scores = model.scores.forward(documents).squeeze_dim::<2>(2);
//! let loss = model.loss.forward(scores, labels, mask, Reduction::Mean);
//! assert_eq!(loss.dims(), [1]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::data::Segments;
pub use crate::loss::{
    DistillationConfig, Lists, LossError, LossSpec, RankingLoss, Reduction, Temperature, UnitGradients,
    mask_from_padding,
};
pub use crate::measure::{Convention, Gain, Measure};

macro_rules! exported {
    ($($folder:ident $file:ident $loss:ident $config:ident;)+) => {
        pub use crate::loss::{$($loss, $config),+};
    };
}

crate::every_loss!(exported);

#[cfg(test)]
mod tests {
    /// Returns the first Rust block in `text`, without a leading `//!` on each line.
    fn first_snippet(text: &str) -> String {
        let lines = text.lines().map(|line| line.trim_start_matches("//!").trim_end()).skip_while(|line| {
            let line = line.trim();
            line != "```" && line != "```rust"
        });
        let snippet: Vec<&str> = lines.skip(1).take_while(|line| line.trim() != "```").collect();
        snippet
            .iter()
            .map(|line| line.strip_prefix(' ').filter(|_| !text.starts_with('#')).unwrap_or(line))
            .fold(String::new(), |text, line| text + line + "\n")
    }

    #[test]
    fn the_crates_page_starts_with_the_snippet_of_the_readme() {
        let readme = include_str!("../README.md");
        let section = &readme[readme.find("## In your own burn model").expect("the section")..];
        let snippet = first_snippet(section);
        assert!(snippet.contains("use burn_rank::prelude::*;"), "{snippet}");
        assert_eq!(first_snippet(include_str!("lib.rs")), snippet);
    }
}
