//! The public items of a crate, one per line and sorted, from the JSON of rustdoc.
//!
//! What the compiler adds by itself is left out: blanket implementations, auto traits, and what `derive` makes.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("expected a file of rustdoc's JSON")?;
    let api = public_api::Builder::from_rustdoc_json(path)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    print!("{api}");
    Ok(())
}
