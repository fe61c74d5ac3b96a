//! All output to standard output and standard error goes through this file. Characters that would control a terminal
//! are printed as escapes, because names in data, configurations and arguments may come from anyone. On a terminal, the
//! word at the beginning of a line that says what the line is, such as `warning:`, has a color, and so have verdicts in
//! the cells of tables.
//!
//! Progress lines are drawn at the bottom of the terminal, through standard error; without a terminal, nothing is
//! drawn. Warnings of the library, such as a missing kernel for a device, go there too.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use burn_rank::workbench::text::{harmless, harmless_lines};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use indicatif::{MultiProgress, ProgressDrawTarget, TermLike};
use log::{Level, LevelFilter, Log, Metadata, Record};

use super::failure::one_line;
use super::help::dotted_key;
use crate::page::wrapped;

/// Returns standard output for a command: escaped on a terminal, and unchanged in a file or a pipe.
pub(super) fn output() -> Box<dyn Write> {
    let to = BufWriter::new(io::stdout());
    match io::stdout().is_terminal() {
        true => Box::new(Harmless { to, colors: has_colors(true), line: Vec::new() }),
        false => Box::new(to),
    }
}

/// Words at the beginning of a line, with the codes of their colors.
const LEADS: [(&[&str], &str); 6] = [
    (&["error:"], "1;31"),
    (&["problem", "fails"], "31"),
    (&["warning:", "open"], "33"),
    (&["note", "note:", "vacuous"], "36"),
    (&["holds"], "32"),
    (&["verdict"], "1;32"),
];

/// Returns whether the user wants colors on a terminal: `NO_COLOR` and `TERM=dumb` turn them off.
fn has_colors(is_terminal: bool) -> bool {
    let [no_color, term] = ["NO_COLOR", "TERM"].map(std::env::var_os);
    is_terminal && allows_colors(no_color.as_deref(), term.as_deref())
}

fn allows_colors(no_color: Option<&OsStr>, term: Option<&OsStr>) -> bool {
    no_color.is_none_or(OsStr::is_empty) && term.is_some_and(|term| term != "dumb")
}

/// Words that are the verdicts of a table's rows, with the codes of their colors.
const VERDICTS: [(&[&str], &str); 3] =
    [(&["failed", "wrong", "different"], "31"), (&["not decided"], "33"), (&["same", "identical"], "32")];

/// Adds colors to a line: to the word with which it begins, and to the verdicts in the cells of a table.
fn painted(line: &str) -> String {
    let paint = |known: &[(&[&str], &str)], text: &str| match known.iter().find(|(words, _)| words.contains(&text)) {
        Some((_, color)) => format!("\x1b[{color}m{text}\x1b[0m"),
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
    let line = if is_terminal { wrapped(&line, usize::from(size().0)).join("\n") } else { line };
    let line = if has_colors(is_terminal) { painted(&line) } else { line } + "\n";
    let _ = DRAWN.suspend(|| io::stderr().write_all(line.as_bytes()));
}

/// Prints the error on one line, without a backtrace even if `RUST_BACKTRACE` is set. Users need to know what to
/// correct, not where the code failed.
pub(super) fn report(error: &anyhow::Error, code: u8) -> u8 {
    say(format_args!("error: {}", one_line(error)));
    code
}

/// Prints clap's error for an invalid command line, or the help that the user asked for. Returns the exit code.
pub(super) fn refuse<C: Parser>(error: Error, arguments: &[OsString]) -> u8 {
    // clap quotes arguments unchanged. To keep the colors of its message, it is called again with escaped arguments.
    let shown = arguments.iter().map(|argument| harmless(&argument.to_string_lossy()).into_owned());
    let Err(mut error) = C::try_parse_from(shown) else {
        say(error.render());
        return code(&error);
    };
    if error.kind() == ErrorKind::UnknownArgument {
        suggest(&mut error, arguments);
    }
    let _ = error.print();
    code(&error)
}

/// Adds a hint to the error about an unknown option: what took its place, or the key of the configuration that it
/// names.
fn suggest(error: &mut Error, arguments: &[OsString]) {
    let Some(invalid) = error.get(ContextKind::InvalidArg).map(ToString::to_string) else { return };
    // clap would have the option passed as a value.
    if error.get(ContextKind::SuggestedArg).is_none() {
        error.remove(ContextKind::Suggested);
    }
    let hint = match &*invalid {
        "--no-tui" | "--dashboard" => Some(
            "no dashboard is drawn any more: leave the option out; progress lines show the figures of each round, \
             and report.html in the run's folder shows their curves"
                .to_string(),
        ),
        _ => setting(&invalid, arguments),
    };
    if let Some(hint) = hint {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
}

/// Returns how to set the key of the configuration that an unknown option names, in commands that run a configuration.
fn setting(invalid: &str, arguments: &[OsString]) -> Option<String> {
    let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    if !["train", "cv", "devices"].contains(&&**arguments.get(1)?) {
        return None;
    }
    let key = dotted_key(invalid.strip_prefix("--")?)?;
    let joined = arguments.iter().find_map(|argument| argument.strip_prefix(invalid)?.strip_prefix('='));
    let next = arguments.iter().skip_while(|argument| *argument != invalid).nth(1);
    let next = next.filter(|next| !next.starts_with('-')).map(|next| &**next);
    let value = joined.or(next).unwrap_or("VALUE");
    Some(format!("to set a key of the configuration, use '--set {key}={value}'"))
}

fn code(error: &Error) -> u8 {
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Writes text to a terminal line by line, with control characters escaped, except for line breaks and tabs.
struct Harmless<W> {
    to: W,
    colors: bool,
    /// The beginning of a line that has not been written yet.
    line: Vec<u8>,
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(bytes);
        let whole = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in self.line.drain(..whole).collect::<Vec<_>>().split_inclusive(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(line);
            let line = harmless_lines(&line);
            let line = line.trim_end_matches('\n');
            writeln!(self.to, "{}", if self.colors { painted(line) } else { line.to_string() })?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.line);
        self.to.write_all(harmless_lines(&String::from_utf8_lossy(&rest)).as_bytes())?;
        self.to.flush()
    }
}

/// The largest number of redraws per second.
const RATE: u8 = 20;

/// All progress bars that are currently on the terminal; messages are written above them.
pub(super) static DRAWN: LazyLock<MultiProgress> = LazyLock::new(|| {
    MultiProgress::with_draw_target(match io::stderr().is_terminal() {
        true => ProgressDrawTarget::term_like_with_hz(Box::new(Screen::default()), RATE),
        false => ProgressDrawTarget::hidden(),
    })
});

/// Writes to the terminal through standard error. If the terminal is gone, the output is lost and the run continues.
#[derive(Debug, Default)]
struct Screen(Mutex<Written>);

/// The text that waits to be written to the terminal, and the column where that text ends.
#[derive(Debug, Default)]
struct Written {
    text: String,
    column: usize,
}

impl Screen {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, text: impl AsRef<str>) -> io::Result<()> {
        self.written().text.push_str(text.as_ref());
        Ok(())
    }

    fn move_cursor(&self, by: usize, to: char) -> io::Result<()> {
        if by > 0 { self.add(format!("\x1b[{by}{to}")) } else { Ok(()) }
    }
}

impl TermLike for Screen {
    fn width(&self) -> u16 {
        columns() as u16
    }

    fn height(&self) -> u16 {
        size().1
    }

    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.move_cursor(lines, 'A')
    }

    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.move_cursor(lines, 'B')
    }

    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'C')
    }

    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.move_cursor(columns, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)?;
        self.written().column = 0;
        self.add("\n")
    }

    /// Breaks the line where a terminal of this width would wrap. indicatif relies on the wrap, because it pads lines
    /// with blanks instead of ending them.
    fn write_str(&self, text: &str) -> io::Result<()> {
        let mut written = self.written();
        if written.column >= columns() && !text.is_empty() {
            written.text.push('\n');
            written.column = 0;
        }
        written.text.push_str(text);
        written.column += text.chars().count();
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.written().column = 0;
        self.add("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let text = std::mem::take(&mut self.written().text);
        let _ = io::stderr().write_all(text.as_bytes());
        Ok(())
    }
}

/// Returns the numbers of columns and lines of the terminal.
fn size() -> (u16, u16) {
    #[cfg(unix)]
    let known = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| (size.ws_col, size.ws_row));
    #[cfg(not(unix))]
    let known = None;
    known.filter(|(columns, lines)| *columns > 0 && *lines > 0).unwrap_or((80, 24))
}

/// Returns the number of columns for a progress line, slightly fewer than the terminal has. The remaining columns leave
/// room for the `^C` that a terminal echoes. If `^C` started a new line, the drawn lines would shift up.
pub(super) fn columns() -> usize {
    usize::from(size().0.saturating_sub(3).max(1))
}

/// Writes the warnings of this crate to standard error.
struct Warnings;

impl Log for Warnings {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= Level::Warn && metadata.target().starts_with("burn_rank")
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            say(format_args!("warning: {}", record.args()));
        }
    }

    fn flush(&self) {}
}

/// Shows the warnings of this crate in this process. Warnings of other crates are not shown.
pub(super) fn show_warnings() {
    // A program that embeds the command line may have another logger.
    if log::set_logger(&Warnings).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(writes: &[&[u8]]) -> String {
        let mut writer = Harmless { to: Vec::new(), colors: false, line: Vec::new() };
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
            let mut writer = Harmless { to: Vec::new(), colors: true, line: Vec::new() };
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
