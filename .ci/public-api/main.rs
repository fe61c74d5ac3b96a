//! The public items of crates, one per line and sorted, from the JSON of rustdoc, which has hidden items too. Each
//! crate has a heading, and another one for the names in its module `workbench`, of which other programs have no
//! promise.
//!
//! What the compiler adds by itself is left out: blanket implementations, auto traits, and what `derive` makes.

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args_os().skip(1) {
        let name =
            Path::new(&path).file_stem().and_then(|name| name.to_str()).ok_or("expected files NAME.json")?.to_owned();
        let api = public_api::Builder::from_rustdoc_json(path)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()?;
        let inside = format!("{name}::workbench");
        // A macro has no place in a module: all that are exported are hidden.
        let is_hidden = |item: &String| item.contains(&inside) || item.starts_with("pub macro ");
        let items: Vec<String> = api.items().map(ToString::to_string).collect();
        let (hidden, public): (Vec<String>, Vec<String>) = items.into_iter().partition(is_hidden);
        for (heading, items) in
            [(name.clone(), public), (format!("{inside}, for the packages of this repository"), hidden)]
        {
            if !items.is_empty() {
                println!("# {heading}: {} items\n{}\n", items.len(), items.join("\n"));
            }
        }
    }
    Ok(())
}
