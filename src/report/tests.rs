//! Pages of reports made by hand.
