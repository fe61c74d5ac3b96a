//! The Python on the path, and its packages.

use std::process::Command;

/// Returns whether python3 has packages of these names.
pub fn with(packages: &[&str]) -> Result<(), String> {
    const ABSENT: &str =
        "import importlib.util, sys; print(*(name for name in sys.argv[1:] if not importlib.util.find_spec(name)))";
    let Ok(output) = Command::new("python3").args(["-c", ABSENT]).args(packages).output() else {
        return Err("no python3".into());
    };
    let absent = String::from_utf8_lossy(&output.stdout).trim().replace(' ', ", ");
    if !output.status.success() {
        Err("no python3 that runs".into())
    } else if absent.is_empty() {
        Ok(())
    } else {
        Err(format!("no {absent} for python3"))
    }
}
