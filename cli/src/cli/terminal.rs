//! All output to standard output and standard error goes through this file. Characters that would control a terminal
//! are printed as escapes, because names in data, configurations and arguments may come from anyone.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};

use burn_rank::workbench::text::{harmless, harmless_lines};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::screen;

/// Returns standard output for a command: escaped on a terminal, and unchanged in a file or a pipe.
pub(super) fn output() -> Box<dyn Write> {
    // The stream is not locked, because the dashboard draws on standard output from another thread.
    let output = BufWriter::new(io::stdout());
    if io::stdout().is_terminal() { Box::new(Harmless::new(output)) } else { Box::new(output) }
}

/// Prints a message as one line on standard error, above any progress lines. If the terminal is gone, the message is
/// lost without an error.
pub(super) fn say(message: impl Display) {
    // The line is written at once, since the end of all processes of an MPI program may cut off the rest.
    let line = format!("{}\n", harmless(&message.to_string()));
    screen::above(|| {
        let _ = io::stderr().write_all(line.as_bytes());
    });
}

/// Shows the cursor of a terminal again, for code that hid it and exits at once.
pub(super) fn show_cursor() {
    if io::stderr().is_terminal() {
        let _ = io::stderr().write_all(b"\x1b[?25h");
    }
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
    let invalid = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    if error.kind() == ErrorKind::UnknownArgument && invalid.as_deref() == Some("--no-tui") {
        error.insert(ContextKind::SuggestedArg, ContextValue::String("--dashboard".into()));
    }
    let _ = error.print();
    code(&error)
}

fn code(error: &Error) -> u8 {
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// Writes text to a terminal with control characters escaped, except for line breaks and tabs.
struct Harmless<W> {
    to: W,
    /// The first bytes of a character whose remaining bytes have not been written yet.
    cut: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    fn new(to: W) -> Self {
        Self { to, cut: Vec::new() }
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = std::mem::take(&mut self.cut);
        text.extend_from_slice(bytes);
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.to.write_all(harmless_lines(chunk.valid()).as_bytes())?;
            let rest = chunk.invalid();
            let may_go_on = std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if chunks.peek().is_none() && may_go_on {
                self.cut = rest.to_vec();
            } else if !rest.is_empty() {
                self.to.write_all("\u{fffd}".as_bytes())?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(writes: &[&[u8]]) -> String {
        let mut writer = Harmless::new(Vec::new());
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
