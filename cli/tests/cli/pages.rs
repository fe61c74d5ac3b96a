//! Checks of the pages of documentation: their links lead somewhere, every example is listed, and facts stated in two
//! files agree.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::root;

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

/// Returns the prose of a page as one text. Code between single backticks, as in `f[i](x)`, has no links and is left
/// out.
fn without_code(page: &str) -> String {
    prose(page).join("\n").split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Returns the targets of a page's links, `[text](target)`.
fn inline_links(page: &str) -> Vec<String> {
    let text = without_code(page);
    text.split("](").skip(1).map(|rest| rest.split([')', ' ']).next().unwrap().to_string()).collect()
}

/// Returns the label and target of each definition of a link, `[label]: target`.
fn definitions(page: &str) -> Vec<(String, String)> {
    let pairs = prose(page).into_iter().filter_map(|line| line.strip_prefix('[')?.split_once("]: "));
    pairs.map(|(label, target)| (label.to_string(), target.to_string())).collect()
}

/// Returns the labels of a page's links, `[text][label]`.
fn labels(page: &str) -> BTreeSet<String> {
    without_code(page).split("][").skip(1).map(|rest| rest.split(']').next().unwrap().to_string()).collect()
}

/// Returns the targets of all links of a page.
fn links(page: &str) -> Vec<String> {
    let defined = definitions(page).into_iter().map(|(_, target)| target);
    inline_links(page).into_iter().chain(defined).collect()
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

#[test]
fn every_label_of_a_link_is_defined_and_used() {
    for path in pages(Path::new("")) {
        let page = text(path.to_str().unwrap());
        let defined: BTreeSet<String> = definitions(&page).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels(&page), defined, "{}", path.display());
    }
}

/// The guide is part of the crate's documentation, but the files around it are not. So src/guide_links.txt defines the
/// labels of its links again.
#[test]
fn the_pages_of_the_guide_have_no_link_that_breaks_on_docs_rs() {
    let (guide, links) = (text("src/guide.rs"), text("src/guide_links.txt"));
    let book = pages(Path::new("docs")).into_iter().filter(|path| path.components().count() == 3);
    for path in book {
        let folder = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if !guide.contains(&format!("page!(\"{folder}\", {name}, ")) {
            assert!(guide.contains(&format!("`{}`", path.display())), "src/guide.rs has no page `{name}`");
            continue;
        }
        let page = text(path.to_str().unwrap());
        for link in inline_links(&page) {
            assert!(link.starts_with("https://") || link.starts_with('#'), "{}: {link}", path.display());
        }
        for (label, _) in definitions(&page) {
            assert!(
                links.contains(&format!("[{label}]: crate::guide")),
                "src/guide_links.txt does not define `[{label}]`"
            );
        }
    }
}

/// Returns the fenced blocks of a page: the language, and the lines.
fn fenced(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, Vec<&str>)> = None;
    for line in page.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => open = Some((language, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

/// Forges show the lines that rustdoc and mdBook hide, and a prompt is copied with its command.
#[test]
fn every_block_names_its_language_and_holds_only_what_a_reader_copies() {
    let mut checked = 0;
    for path in pages(Path::new("")) {
        for (language, lines) in fenced(&text(path.to_str().unwrap())) {
            let at = path.display();
            assert!(!language.is_empty(), "{at}: a block without a language begins `{}`", lines[0]);
            assert_ne!(language, "console", "{at}: `bash` for commands, `text` for what they print");
            for line in &lines {
                let hidden = language.starts_with("rust") && (*line == "#" || line.starts_with("# "));
                assert!(!hidden, "{at}: rustdoc hides `{line}`, a forge shows it");
                let prompt = ["sh", "bash"].contains(&language) && (line.starts_with("$ ") || line.starts_with("> "));
                assert!(!prompt, "{at}: a prompt in `{line}`");
            }
            checked += 1;
        }
    }
    assert!(checked > 100, "{checked} blocks");
}

#[test]
fn a_page_for_users_links_to_another_and_does_not_name_its_path() {
    let users = ["docs", "benchmarks"].into_iter().flat_map(|folder| pages(Path::new(folder)));
    let users = users.chain(["README.md", "examples/README.md"].map(PathBuf::from));
    for path in users {
        let page = text(path.to_str().unwrap());
        let prose = prose(&page).join("\n");
        let named = prose.split('`').skip(1).step_by(2).find(|code| code.starts_with("docs/") && code.ends_with(".md"));
        assert_eq!(named, None, "{}: a link in its place", path.display());
    }
}

#[test]
fn no_page_includes_another_by_a_directive_that_a_forge_shows() {
    for path in pages(Path::new("")) {
        let page = text(path.to_str().unwrap());
        assert!(!prose(&page).iter().any(|line| line.starts_with("{{#")), "{}", path.display());
    }
}

/// Phrases that a reader has to read twice.
const BAD_PHRASES: [&str; 14] = [
    "is of",
    "are of",
    "was of",
    "were of",
    "that of",
    "those of",
    "beside",
    "alone",
    "told apart",
    "of yours",
    "of ours",
    "of its own",
    "of your own",
    "of their own",
];

/// Words of the longest sentence, and of the longest in the book.
const LONGEST: usize = 30;
const LONGEST_OF_BOOK: usize = 26;

/// The numbers of these phrases and of longer sentences that a page still has; other pages have none. The numbers may
/// only go down.
const LEFT: &[(&str, usize, usize)] = &[];

/// Returns the sentences of a page's paragraphs and lists.
fn sentences(page: &str) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in prose(page).into_iter().map(str::trim) {
        let definition = line.starts_with('[') && line.contains("]: ");
        let ends = line.is_empty() || line.starts_with(['|', '#']) || definition;
        if ends || line.starts_with("* ") || line.starts_with("- ") {
            paragraphs.push(String::new());
        }
        if !ends {
            *paragraphs.last_mut().unwrap() += &format!("{line} ");
        }
    }
    let ends = [". ", "? ", ".) ", ".** "];
    let text = ends.iter().fold(paragraphs.join("\n"), |text, end| text.replace(end, "\n"));
    text.lines().map(String::from).collect()
}

#[test]
fn pages_for_users_gain_no_sentence_that_has_to_be_read_twice() {
    let (mut slack, mut over) = (0, Vec::new());
    let users = ["docs", "benchmarks"].into_iter().flat_map(|folder| pages(Path::new(folder)));
    let users = users.chain(["README.md", "examples/README.md"].map(PathBuf::from));
    for path in users {
        let name = path.to_str().unwrap();
        let page = text(name);
        let plain = prose(&page).join(" ").to_lowercase();
        let plain: Vec<&str> = plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let spaced = format!(" {} ", plain.join("  "));
        let counts = BAD_PHRASES.map(|phrase| spaced.matches(&format!(" {} ", phrase.replace(' ', "  "))).count());
        let phrases: usize = counts.iter().sum();
        let longest = if name.starts_with("docs/") { LONGEST_OF_BOOK } else { LONGEST };
        let long: Vec<String> = sentences(&page).into_iter().filter(|sentence| words(sentence) > longest).collect();
        let left = LEFT.iter().find(|(page, ..)| *page == name).map_or((0, 0), |(_, phrases, long)| (*phrases, *long));
        if phrases > left.0 || long.len() > left.1 {
            let found: Vec<_> = BAD_PHRASES.iter().zip(counts).filter(|(_, count)| *count > 0).collect();
            over.push(format!("(\"{name}\", {phrases}, {}), at most {left:?}: {found:?} {long:#?}", long.len()));
        } else {
            slack += left.0 - phrases + left.1 - long.len();
        }
    }
    assert!(over.is_empty(), "find plainer words, or two sentences:\n{}", over.join("\n"));
    assert_eq!(slack, 0, "fewer than `LEFT` allows: lower its numbers");
}

/// Words of README.md and docs together, of one page, and of a cell of a table. What a program writes whole counts only
/// by its cells.
const MOST_WORDS: usize = 50_000;
const MOST_OF_A_PAGE: usize = 3_000;
const MOST_OF_A_CELL: usize = 25;

/// Returns README.md and the pages of the book with their texts.
fn book() -> Vec<(String, String)> {
    let paths = pages(Path::new("docs")).into_iter().chain([PathBuf::from("README.md")]);
    paths.map(|path| path.to_str().unwrap().to_string()).map(|name| (name.clone(), text(&name))).collect()
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

#[test]
fn pages_for_users_are_short_one_by_one_and_together() {
    let by_hand: Vec<_> = book().into_iter().filter(|(_, page)| !page.starts_with("<!-- made by ")).collect();
    assert!(by_hand.len() > 40, "{} pages", by_hand.len());
    for (name, page) in &by_hand {
        assert!(words(page) <= MOST_OF_A_PAGE, "{name}: {} words, at most {MOST_OF_A_PAGE}", words(page));
    }
    let all: usize = by_hand.iter().map(|(_, page)| words(page)).sum();
    assert!(all <= MOST_WORDS, "{all} words in README.md and docs, at most {MOST_WORDS}: each fact has one place");
}

/// What needs more words is a sentence below the table. A formula is one word.
#[test]
fn cells_of_tables_are_short() {
    let mut checked = 0;
    for (name, page) in book() {
        for line in prose(&page).into_iter().filter(|line| line.starts_with('|')) {
            for cell in line.trim_matches('|').split('|') {
                let formulas = cell.split("$`").map(|part| part.split_once("`$").map_or(part, |(_, rest)| rest));
                let words = words(&formulas.collect::<Vec<_>>().join(" x "));
                assert!(words <= MOST_OF_A_CELL, "{name}: a cell of {words} words, at most {MOST_OF_A_CELL}: {cell}");
                checked += 1;
            }
        }
    }
    assert!(checked > 1_500, "{checked} cells");
}

/// Tables, links, quotes and commands stand on one line, whatever its width; so does what a program writes.
#[test]
fn lines_of_pages_are_at_most_120_wide() {
    let one_line = ['|', '[', '!', '>', '('];
    let by_hand = |path: &PathBuf| {
        !path.starts_with("models") && !path.ends_with("benchmarks/published.md") && !path.ends_with("LICENSE.md")
    };
    for path in pages(Path::new("")).into_iter().filter(by_hand) {
        for line in prose(&text(path.to_str().unwrap())) {
            let free = line.trim_start().starts_with(one_line) || line.starts_with("    ") || line.contains("](");
            assert!(free || line.chars().count() <= 120, "{}: {line}", path.display());
        }
    }
}

#[test]
fn every_example_is_listed_with_its_command() {
    let page = text("examples/README.md");
    // One file, or a folder with a `main.rs`.
    let files_in = |folder: &str, shown: &str| -> Vec<String> {
        fs::read_dir(root().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| if path.is_dir() { path.join("main.rs") } else { path })
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs") && path.is_file())
            .map(|path| format!("{shown}{}", path.strip_prefix(root().join(folder)).unwrap().display()))
            .collect()
    };
    let files = [files_in("examples", ""), files_in("cli/examples", "../cli/examples/")].concat();
    let files: BTreeSet<String> = files.into_iter().collect();
    let listed: BTreeSet<String> =
        links(&page).iter().filter(|link| link.ends_with(".rs")).map(|link| link.to_string()).collect();
    assert_eq!(listed, files);
    for file in files {
        let row = page.lines().find(|line| line.contains(&format!("]({file})"))).unwrap();
        let name = file.strip_suffix("/main.rs").or(file.strip_suffix(".rs")).unwrap();
        let name = name.rsplit('/').next().unwrap();
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
