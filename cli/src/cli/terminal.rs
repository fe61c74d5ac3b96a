//! All output to standard output and standard error goes through this file. Characters that would control a terminal
//! are printed as escapes, because names in data, configurations and arguments may come from anyone. On a terminal, the
//! word at the beginning of a line that says what the line is, such as `warning:`, has a color, and so have verdicts in
//! the cells of tables.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use burn_rank::workbench::text::{harmless, harmless_lines};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::help::dotted_key;
use super::screen;
use crate::page::wrapped;

/// Returns standard output for a command: escaped on a terminal, and unchanged in a file or a pipe.
pub(super) fn output() -> Box<dyn Write> {
    let output = BufWriter::new(io::stdout());
    let is_terminal = io::stdout().is_terminal();
    if is_terminal { Box::new(Harmless::new(output, has_colors(is_terminal))) } else { Box::new(output) }
}

/// Words at the beginning of a line, each with the code of its color.
const LEADS: [(&str, &str); 10] = [
    ("error:", "1;31"),
    ("problem", "31"),
    ("fails", "31"),
    ("warning:", "33"),
    ("open", "33"),
    ("note", "36"),
    ("note:", "36"),
    ("vacuous", "36"),
    ("holds", "32"),
    ("verdict", "1;32"),
];

/// Returns whether the user wants colors on a terminal: `NO_COLOR` and `TERM=dumb` turn them off.
fn has_colors(is_terminal: bool) -> bool {
    let [no_color, term] = ["NO_COLOR", "TERM"].map(std::env::var_os);
    is_terminal && allows_colors(no_color.as_deref(), term.as_deref())
}

fn allows_colors(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_some_and(|term| term != "dumb")
}

/// Words that are the verdicts of a table's rows, each with the code of its color.
const VERDICTS: [(&str, &str); 6] = [
    ("failed", "31"),
    ("wrong", "31"),
    ("different", "31"),
    ("not decided", "33"),
    ("same", "32"),
    ("identical", "32"),
];

/// Adds colors to a line: to the word with which it begins, and to the verdicts in the cells of a table.
fn painted(line: &str) -> String {
    let paint = |known: &[(&str, &str)], text: &str| match known.iter().find(|(word, _)| *word == text) {
        Some((word, color)) => format!("\x1b[{color}m{word}\x1b[0m"),
        None => text.to_string(),
    };
    // Two blanks separate the cells of a table.
    let mut cells = line.split("  ");
    let first = cells.next().unwrap_or_default();
    let lead = match first.split_once(' ') {
        Some((lead, rest)) => format!("{} {rest}", paint(&LEADS, lead)),
        None if first.len() < line.len() => paint(&LEADS, first),
        None => first.to_string(),
    };
    let cells = cells.map(|cell| cell.replace(cell.trim(), &paint(&VERDICTS, cell.trim())));
    [lead].into_iter().chain(cells).collect::<Vec<_>>().join("  ")
}

/// Prints a message on standard error, above any progress lines. A terminal shows it in lines that break between words;
/// elsewhere the message is one line. If the terminal is gone, the message is lost without an error.
pub fn say(message: impl Display) {
    let line = harmless(&message.to_string()).into_owned();
    // The text is written at once, since the end of all processes of an MPI program may cut off the rest.
    let is_terminal = io::stderr().is_terminal();
    let line = if is_terminal { wrapped(&line, screen::width()).join("\n") } else { line };
    let line = if has_colors(is_terminal) { painted(&line) } else { line } + "\n";
    screen::above(|| {
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

/// Prints clap's error for an invalid command line, or the help that the user asked for. Returns the exit code.
pub(super) fn refuse<C: Parser>(mut error: Error, arguments: &[std::ffi::OsString]) -> u8 {
    // clap quotes arguments unchanged. To keep the colors of its message, it is called again with escaped arguments.
    let shown: Vec<_> = arguments.iter().map(|argument| harmless(&argument.to_string_lossy()).into_owned()).collect();
    if arguments.iter().zip(&shown).any(|(argument, shown)| argument.to_str() != Some(shown)) {
        match C::try_parse_from(&shown) {
            Err(again) => error = again,
            Ok(_) => {
                say(error.render());
                return code(&error);
            }
        }
    }
    if error.kind() == ErrorKind::UnknownArgument {
        suggest(&mut error, arguments);
    }
    let _ = error.print();
    code(&error)
}

/// Adds a hint to the error about an unknown option: the option that took its place, or the key of the configuration
/// that it names.
fn suggest(error: &mut Error, arguments: &[std::ffi::OsString]) {
    let Some(invalid) = error.get(ContextKind::InvalidArg).map(ToString::to_string) else { return };
    // clap would have the option passed as a value.
    if error.get(ContextKind::SuggestedArg).is_none() {
        error.remove(ContextKind::Suggested);
    }
    if invalid == "--no-tui" || invalid == "--dashboard" {
        let hint = "no dashboard is drawn any more: leave the option out; progress lines show the figures of each round, \
                    and report.html in the run's folder shows their curves";
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
        return;
    }
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let runs_a_configuration =
        ["train", "cv", "devices"].iter().any(|name| arguments.get(1).is_some_and(|is| is.as_ref() == *name));
    let Some(name) = invalid.strip_prefix("--").filter(|_| runs_a_configuration) else { return };
    let Some(key) = dotted_key(name) else { return };
    let after = |at: usize| arguments.get(at + 1).filter(|next| !next.starts_with('-'));
    let at = arguments.iter().position(|argument| *argument == invalid);
    let joined = arguments.iter().find_map(|argument| argument.strip_prefix(&invalid)?.strip_prefix('='));
    let value = joined.or_else(|| at.and_then(after).map(|value| &**value)).unwrap_or("VALUE");
    let hint = format!("to set a key of the configuration, use '--set {key}={value}'");
    error.remove(ContextKind::SuggestedArg);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
}

fn code(error: &Error) -> u8 {
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Writes text to a terminal with control characters escaped, except for line breaks and tabs.
struct Harmless<W> {
    to: W,
    /// The first bytes of a character whose remaining bytes have not been written yet.
    cut: Vec<u8>,
    colors: bool,
    /// The beginning of a line that has not been written yet, because its words may have colors.
    line: String,
}

impl<W: Write> Harmless<W> {
    fn new(to: W, colors: bool) -> Self {
        Self { to, cut: Vec::new(), colors, line: String::new() }
    }

    /// Writes text without control characters, line by line if it has colors.
    fn show(&mut self, text: &str) -> io::Result<()> {
        if !self.colors {
            return self.to.write_all(text.as_bytes());
        }
        let text = std::mem::take(&mut self.line) + text;
        for line in text.split_inclusive('\n') {
            match line.strip_suffix('\n') {
                Some(line) => writeln!(self.to, "{}", painted(line))?,
                None => self.line = line.to_string(),
            }
        }
        Ok(())
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = std::mem::take(&mut self.cut);
        text.extend_from_slice(bytes);
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.show(&harmless_lines(chunk.valid()))?;
            let rest = chunk.invalid();
            let may_go_on = std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && may_go_on {
                self.cut = rest.to_vec();
            } else if !rest.is_empty() {
                self.show("\u{fffd}")?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(std::mem::take(&mut self.line).as_bytes())?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(writes: &[&[u8]]) -> String {
        let mut writer = Harmless::new(Vec::new(), false);
        writes.iter().for_each(|bytes| writer.write_all(bytes).unwrap());
        writer.flush().unwrap();
        String::from_utf8(writer.to).unwrap()
    }

    #[test]
    fn a_terminal_gets_no_control_character_but_line_breaks_and_tabs() {
        assert_eq!(written(&[b"a\tb\n", b"\x1b]0;pwn\x07\r\x7f"]), "a\tb\n\\u{1b}]0;pwn\\u{7}\\r\\u{7f}");
        // A byte that is not UTF-8 might be a control character of another encoding.
        assert_eq!(written(&[b"x\x9b31m\xff"]), "x\u{fffd}31m\u{fffd}");
    }

    #[test]
    fn words_at_the_beginning_of_a_line_have_colors_where_a_terminal_has_them() {
        let text = "problem  a problem\nproblems\nnote  b\nwarning: c\nverdict";
        for at in 0..text.len() {
            let mut writer = Harmless::new(Vec::new(), true);
            let (first, second) = text.as_bytes().split_at(at);
            [first, second].iter().for_each(|bytes| writer.write_all(bytes).unwrap());
            writer.flush().unwrap();
            let shown = String::from_utf8(writer.to).unwrap();
            let expected = "\x1b[31mproblem\x1b[0m  a problem\nproblems\n\x1b[36mnote\x1b[0m  b\n\x1b[33mwarning:\x1b[0m c\nverdict";
            assert_eq!(shown, expected, "cut at {at}");
        }
        assert_eq!(written(&[text.as_bytes()]), text);
    }

    #[test]
    fn verdicts_in_the_cells_of_a_table_have_colors() {
        assert_eq!(painted("flex  0.4       first       -"), "flex  0.4       first       -");
        assert_eq!(painted("cuda  0.4   different  0.1"), "cuda  0.4   \x1b[31mdifferent\x1b[0m  0.1");
        assert_eq!(painted("a b   not decided  0.1"), "a b   \x1b[33mnot decided\x1b[0m  0.1");
        assert_eq!(painted("the same different words  same"), "the same different words  \x1b[32msame\x1b[0m");
    }

    #[test]
    fn colors_can_be_turned_off() {
        let allowed =
            |no_color: Option<&str>, term: Option<&str>| allows_colors(no_color.map(OsStr::new), term.map(OsStr::new));
        assert!(allowed(None, Some("xterm")) && allowed(Some(""), Some("xterm")));
        assert!(!allowed(Some("1"), Some("xterm")) && !allowed(None, Some("dumb")) && !allowed(None, None));
    }

    #[test]
    fn a_character_may_come_in_two_writes() {
        for text in ["\u{9b}", "é", "\u{202e}", "\u{1f600}"] {
            let text = format!("a{text}b");
            for cut in 0..text.len() {
                let (first, second) = text.as_bytes().split_at(cut);
                assert_eq!(written(&[first, second]), harmless(&text), "{text:?} cut at {cut}");
            }
        }
    }
}
