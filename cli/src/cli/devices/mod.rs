//! `burn-rank devices` lists the devices and instruction sets that this build supports, and those found on this
//! machine. `compare.rs` runs one experiment on several devices. `devices merge` merges the tables of several machines.

mod compare;

use burn_rank::device;
use burn_rank::op::Instructions;
use burn_rank::workbench::backends;

use self::compare::{PAGE, TABLE, read};
use crate::cli::*;
use crate::device_comparison::DeviceComparison;
use crate::report::{devices_page, devices_text};

/// Arguments of `devices`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DevicesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run one experiment on several devices and compare their rankers and speed
    Compare(compare::CompareArgs),
    /// Merge the tables of several machines
    Merge(MergeArgs),
    /// Run one fit of a comparison
    #[command(hide = true)]
    Trial(compare::TrialArgs),
}

impl DevicesArgs {
    pub(super) fn run(self, out: &mut dyn Write) -> Result {
        match self.command {
            None => self.list(out),
            Some(Command::Compare(args)) => args.run(out),
            Some(Command::Merge(args)) => args.run(out),
            Some(Command::Trial(args)) => args.run(out),
        }
    }

    fn list(&self, out: &mut dyn Write) -> Result {
        let mut table = Table::new("device", ["state", "what"]);
        let default = device::default_name();
        for (name, summary, built) in backends() {
            let is_default = default.split(':').next() == Some(name);
            let state = match (built, open_device(Some(name))) {
                (false, _) => format!("not built: --features {name}"),
                (true, Ok(_)) => "ready".to_string(),
                (true, Err(error)) => error.to_string(),
            };
            if self.json {
                let row = json!({
                    "device": name, "built": built, "ready": state == "ready", "state": state, "default": is_default,
                });
                writeln!(out, "{row}")?;
            }
            let state = if is_default { format!("{state}, the default") } else { state };
            table.row(name, [state.as_str(), summary]);
        }
        let mut sets = Table::new("instructions", ["state", "what"]);
        for &set in Instructions::ALL {
            let (found, best) = (set.is_found(), set == Instructions::best());
            let state = match (found, best) {
                (true, true) => "found, the default",
                (true, false) => "found",
                (false, _) => "not found",
            };
            if self.json {
                let row = json!({"instructions": set, "found": found, "default": best, "what": set.summary()});
                writeln!(out, "{row}")?;
            }
            sets.row(set.name(), [state, set.summary()]);
        }
        if !self.json {
            write!(out, "{}", table.text())?;
            if let Some(name) = device::from_environment() {
                let fault = open_device(None).err().map(|error| format!("; {error}"));
                writeln!(out, "{}={} names the default{}", device::VARIABLE, shown(&name), fault.unwrap_or_default())?;
            }
            write!(out, "\nFor the fused kernels of the CPU:\n{}", sets.text())?;
        }
        Ok(())
    }
}

/// Arguments of `devices merge`.
#[derive(Debug, Args)]
pub struct MergeArgs {
    /// Folders written by `devices compare`; the first row of the first folder is the baseline for all others
    #[arg(required = true, num_args = 2.., value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Also write the table and its page to this folder, which must be new, empty, or written by an earlier merge
    #[arg(long)]
    out: Option<PathBuf>,
    /// Print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl MergeArgs {
    fn run(self, out: &mut dyn Write) -> Result {
        if let Some(out) = &self.out
            && let Ok(place) = out.canonicalize()
            && self.folders.iter().any(|folder| folder.canonicalize().is_ok_and(|folder| folder == place))
        {
            bail!("--out {}: found a folder to merge, expected another one", out.display());
        }
        let tables = self.names()?.into_iter().zip(&self.folders).map(|(name, folder)| Ok((name, read(folder)?)));
        let tables = tables.collect::<Result<Vec<_>>>()?;
        let merged = DeviceComparison::merge(tables)?;
        if let Some(path) = &self.out {
            let folder = OutputFolder::of_files(path, "devices merge")?;
            folder.write_json(TABLE, &merged)?;
            folder.write(PAGE, devices_page(&merged).as_bytes())?;
        }
        if self.json {
            return Ok(writeln!(out, "{}", json!(merged))?);
        }
        Ok(out.write_all(devices_text(&merged).as_bytes())?)
    }

    /// Returns the names of the machines, after their folders. No folder may occur twice.
    fn names(&self) -> Result<Vec<String>> {
        let places: Vec<_> = self.folders.iter().map(|folder| folder.canonicalize().ok()).collect();
        if let Some(at) = (1..places.len()).find(|&at| places[at].is_some() && places[..at].contains(&places[at])) {
            bail!("{}: found the same folder twice, expected each once", self.folders[at].display());
        }
        Ok(files::names(&self.folders))
    }
}
