//! The section on the factors of positions.

use burn_rank::learner::PositionFactor;

use crate::number;
use crate::page::{Html, Table, note, section};

/// Builds the section for fits on the same kind of data, each with its name and its factors; it is empty if none of them
/// has factors. A position that a fit lacks has no value there.
pub(super) fn factors(fits: &[(String, &[PositionFactor])]) -> Html {
    let with: Vec<_> = fits.iter().filter(|(_, found)| !found.is_empty()).collect();
    let Some((_, longest)) = with.iter().max_by_key(|(_, found)| found.len()) else { return Html::default() };
    let titles = with.iter().flat_map(|(name, _)| [format!("{name}, documents"), format!("{name}, factor")]);
    let titles: Vec<String> = match with[..] {
        [_] => vec!["documents".to_owned(), "factor".to_owned()],
        _ => titles.collect(),
    };
    let mut table = Table::new(std::iter::once("position".to_owned()).chain(titles));
    for PositionFactor { position, .. } in longest.iter() {
        let cells = with.iter().flat_map(|(_, found)| {
            let found = found.iter().find(|found| found.position == *position);
            let factor = found.map_or(f64::NAN, |found| found.factor);
            [number::count(found.map_or(0, |found| found.documents)), number::figure(factor)]
        });
        table.row(position.as_str(), cells);
    }
    let about = note(
        "In training, the factor of its position was added to the score of each document. The ranker has no factors. \
         Only differences between factors count for most losses.",
    );
    section("positions", "Positions", table.html("positions").then(about))
}
