//! Checks of the pages beside the code: their links lead somewhere, every example is listed, and facts stated in two
//! files agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns every Markdown page of the repository, relative to its root.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            // Build outputs, and what runs left behind.
            if !["target", "runs", ".git", "corpus", "artifacts"].iter().any(|name| path.ends_with(name)) {
                found.extend(pages(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    found
}

/// Returns the lines of a page that are not code.
fn prose(page: &str) -> Vec<&str> {
    let mut code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    });
    lines.collect()
}

/// Returns the targets of a page's links, `[text](target)`.
fn links(page: &str) -> Vec<String> {
    let text = prose(page).join("\n");
    // Code between single backticks, as in `f[i](x)`, has no links.
    let text: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    text.split("](").skip(1).map(|rest| rest.split([')', ' ']).next().unwrap().to_string()).collect()
}

/// Returns the anchors that a forge gives to headings.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page).into_iter().filter(|line| line.starts_with('#'));
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let name = |line: &str| line.trim_start_matches('#').trim().to_lowercase().chars().filter(kept).collect::<String>();
    headings.map(|line| name(line).replace(' ', "-")).collect()
}

#[test]
fn every_link_of_every_page_leads_to_a_file_and_a_heading() {
    let mut checked = 0;
    for path in pages(Path::new("")) {
        let page = text(path.to_str().unwrap());
        for link in links(&page).iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => path.clone(),
                file => path.parent().unwrap().join(file),
            };
            assert!(root().join(&target).exists(), "{}: nothing at {link}", path.display());
            if !heading.is_empty() {
                let found = anchors(&fs::read_to_string(root().join(&target)).unwrap()).contains(heading);
                assert!(found, "{}: no heading {link}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} links found");
}

/// The guide is part of the crate's documentation, but the files around it are not.
#[test]
fn the_pages_of_the_guide_have_no_link_that_breaks_on_docs_rs() {
    for path in pages(Path::new("docs/guide")) {
        for link in links(&text(path.to_str().unwrap())) {
            assert!(link.starts_with("https://") || link.starts_with('#'), "{}: {link}", path.display());
        }
    }
}

#[test]
fn every_example_is_listed_with_its_command() {
    let page = text("examples/README.md");
    // One file, or a folder with a `main.rs`.
    let files: BTreeSet<String> = fs::read_dir(root().join("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| if path.is_dir() { path.join("main.rs") } else { path })
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs") && path.is_file())
        .map(|path| path.strip_prefix(root().join("examples")).unwrap().to_str().unwrap().to_string())
        .collect();
    let listed: BTreeSet<String> =
        links(&page).iter().filter(|link| link.ends_with(".rs")).map(|link| link.to_string()).collect();
    assert_eq!(listed, files);
    for file in files {
        let row = page.lines().find(|line| line.contains(&format!("]({file})"))).unwrap();
        let name = file.strip_suffix("/main.rs").or(file.strip_suffix(".rs")).unwrap();
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells.len(), 4, "{row}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{row}");
        let command = cells[2].split('`').nth(1).unwrap();
        assert!(command.starts_with("cargo run "), "{row}");
        assert!(command.split(' ').collect::<Vec<_>>().windows(2).any(|pair| pair == ["--example", name]), "{row}");
    }
}

/// Returns the value of a key of the package in Cargo.toml.
fn package(key: &str) -> String {
    let manifest: toml::Table = toml::from_str(&text("Cargo.toml")).unwrap();
    manifest["package"][key].as_str().unwrap().to_string()
}

#[test]
fn facts_stated_in_two_files_agree() {
    let citation = text("CITATION.cff");
    assert!(citation.lines().any(|line| line == format!("version: {}", package("version"))), "{citation}");
    for license in package("license").split(" OR ") {
        assert!(citation.lines().any(|line| line == format!("  - {license}")), "{license}");
    }
    let oldest = format!("Rust {} or later", package("rust-version"));
    assert!(text("README.md").contains(&oldest), "README.md does not say {oldest}");
}
