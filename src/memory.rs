//! Memory of this process in bytes, as the operating system reports it; `None` on anything but Linux.

/// Calls `f` and returns its result with the peak of resident memory above what was resident before; the peak is `None`
/// also where it cannot be reset.
#[cfg(any(feature = "cli", test))]
pub fn peak_during<R>(f: impl FnOnce() -> R) -> (R, Option<u64>) {
    // 5 resets the peak of the resident set to its present size.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = field("VmRSS:");
    let result = f();
    let peak = peak();
    let above = before.zip(peak).filter(|_| reset).map(|(before, peak)| peak.saturating_sub(before));
    (result, above)
}

/// Returns the largest resident memory so far.
#[cfg(any(feature = "experiment", test))]
pub(crate) fn peak() -> Option<u64> {
    field("VmHWM:")
}

/// Returns the memory that a process may still take.
pub(crate) fn available() -> Option<u64> {
    field_of("/proc/meminfo", "MemAvailable:")
}

/// Reads a field of `/proc/self/status` in bytes.
#[cfg(any(feature = "experiment", test))]
fn field(name: &str) -> Option<u64> {
    field_of("/proc/self/status", name)
}

/// Reads a field, in bytes, from a file of lines `NAME: NUMBER kB`.
fn field_of(path: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(path).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::peak_during;

    #[test]
    fn sees_a_large_allocation() {
        let (length, peak) = peak_during(|| std::hint::black_box(vec![1u8; 64 << 20]).len());
        if let Some(peak) = peak {
            assert!(peak as usize > length / 2, "{peak} of {length}");
        }
    }
}
