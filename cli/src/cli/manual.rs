//! Generates the output of `burn-rank completions` and `burn-rank man` from the definitions behind `--help`.

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::*;

const NAME: &str = "burn-rank";

const WHERE_PAGES_GO: &str = "\
To read a page:     burn-rank man train > train.1; man ./train.1
To install them:    burn-rank man --out man; cp man/*.1 ~/.local/share/man/man1; man burn-rank-train";

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = include_str!("texts/completions.txt").trim_ascii_end())]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    /// Writes a shell completion script for the whole command line.
    pub(super) fn run(self, mut command: Command, out: &mut dyn Write) -> Result {
        // The script is written to memory first, because the generator panics if a write fails.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, NAME, &mut script);
        if self.shell == Shell::Bash {
            // clap_complete 4.6 writes the hyphen of the program's name in two ways, so bash would not find the options
            // of any command.
            script = String::from_utf8_lossy(&script).replace("burn__subcmd__rank", "burn__rank").into_bytes();
        }
        Ok(out.write_all(&script)?)
    }
}

/// Arguments of `man`.
#[derive(Debug, Args)]
#[command(after_help = WHERE_PAGES_GO)]
pub struct ManArgs {
    /// Command whose page is printed, such as `train` or `models show`; without it, the page of burn-rank
    command: Vec<String>,
    /// Write the pages of all commands to this folder instead of printing one; existing files of the same names are
    /// replaced
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

impl ManArgs {
    /// Writes man pages for `command`, the whole command line.
    pub(super) fn run(self, command: Command, out: &mut dyn Write) -> Result {
        // The commands `help` get no page, since they only repeat the other pages.
        let mut root = command.disable_help_subcommand(true);
        root.build();
        let Some(folder) = &self.out else {
            let (command, parent) = find("man", &root, &self.command)?;
            return Ok(write_page(command, parent, out)?);
        };
        let mut pages = Vec::new();
        pages_below(&root, None, &mut pages)?;
        let files: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        let folder = OutputFolder::of_files(folder, "man")?;
        Ok(folder.write_together(&files, |number, file| file.write_all(&pages[number].1))?)
    }
}

/// Finds a command and its parent by the names that lead to the command. `of` is the command that asks.
pub(super) fn find<'a>(of: &str, root: &'a Command, path: &[String]) -> Result<(&'a Command, Option<&'a Command>)> {
    path.iter().try_fold((root, None), |(command, _), name| {
        let child = command.find_subcommand(name).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let parent = command.get_bin_name().unwrap_or(NAME);
            let expected = match known.is_empty() {
                true => format!("nothing, since `{parent}` has no subcommands"),
                false => format!("a command of `{parent}`: {}", known.join(", ")),
            };
            let guess = did_you_mean(&nearest(name, known));
            Failure::input(format!("{of}: found `{name}`, expected {expected}{guess}"))
        })?;
        Ok((child, Some(command)))
    })
}

/// Returns the name of a command's page, such as `burn-rank-models-show`.
fn title(command: &Command) -> &str {
    command.get_display_name().unwrap_or(NAME)
}

/// Collects the pages of a command and of its subcommands, with their file names.
fn pages_below(command: &Command, parent: Option<&Command>, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    write_page(command, parent, &mut page)?;
    pages.push((format!("{}.1", title(command)), page));
    let mut shown = command.get_subcommands().filter(|child| !child.is_hide_set() && child.get_name() != "help");
    shown.try_for_each(|child| pages_below(child, Some(command), pages))
}

/// Writes a page whose sections are in the order of man-pages(7). The help text after the options is already formatted,
/// so its line breaks are kept.
fn write_page(command: &Command, parent: Option<&Command>, out: &mut dyn Write) -> io::Result<()> {
    let man = Man::new(command.clone()).source(concat!("burn-rank ", env!("CARGO_PKG_VERSION"))).manual("burn-rank");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::new();
    if let Some(text) = command.get_after_long_help().or(command.get_after_help())
        && parent.is_some()
    {
        roff.control("SH", ["NOTES"]).control("nf", []);
        for line in text.to_string().lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.control("SH", ["EXIT STATUS"]).text([roman(EXIT_CODES)]);
    if let Some(parent) = parent {
        roff.control("SH", ["SEE ALSO"]).text([roman(format!("{}(1)", title(parent)))]);
    }
    roff.to_writer(out)
}
