//! Reports memory in bytes, as the operating system counts it; `None` on systems other than Linux. Code whose memory
//! grows with a number from a user or a file calls [`ask`] first.

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

/// Requests of up to this many bytes are granted without checking the free memory, unless the process has a limit of
/// its own.
const FEW: u64 = 256 << 20;

/// The bytes that a process with its own limit keeps free for allocations that nobody asks for.
const SPARE: u64 = 32 << 20;

/// The largest size in bytes that Rust allows for an array.
const MOST: u64 = isize::MAX as u64;

/// A request for more memory than is free. A shortage is printed as
/// `takes about N bytes (1.5 TiB), M (20.1 GiB) are free`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortage {
    /// The number of bytes that were requested.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { needed, free } = *self;
        write!(f, "takes about {needed} bytes ({}), {free} ({}) are free", Size(needed), Size(free))
    }
}

/// A number of bytes, shown in the largest unit that does not exceed it.
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let power = (self.0.max(1).ilog2() / 10).clamp(1, units.len() as u32);
        write!(f, "{:.1} {}", self.0 as f64 / 1024f64.powi(power as i32), units[power as usize - 1])
    }
}

/// Rejects a request for more bytes than are free.
///
/// # Errors
/// Returns [`Shortage`] if fewer bytes are free, or if no system could have that many.
pub fn ask(needed: u64) -> Result<(), Shortage> {
    if needed <= FEW && *IS_LIMITED && needed > 0 {
        // Only the allocator knows what it has reserved and not given out.
        let fits = Vec::<u8>::new().try_reserve_exact((needed + SPARE) as usize).is_ok();
        return if fits { Ok(()) } else { Err(Shortage { needed, free: left_of_addresses().unwrap_or(0) }) };
    }
    if needed <= FEW {
        return Ok(());
    }
    let free = available().unwrap_or(MOST);
    if needed > free { Err(Shortage { needed, free }) } else { Ok(()) }
}

/// Returns the product of some numbers, or `u64::MAX` if it would overflow.
pub fn product<const N: usize>(numbers: [usize; N]) -> u64 {
    numbers.into_iter().fold(1, |product: u64, number| product.saturating_mul(number as u64))
}

/// Calls `f` and returns its result with the peak of resident memory during the call. The peak is in bytes above the
/// memory that was resident before the call. The peak is `None` on systems other than Linux, or if it cannot be reset.
pub fn peak_during<R>(f: impl FnOnce() -> R) -> (R, Option<u64>) {
    // 5 resets the peak of the resident set to its present size.
    let reset = std::fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = field("VmRSS:");
    let result = f();
    let peak = peak();
    let above = before.zip(peak).filter(|_| reset).map(|(before, peak)| peak.saturating_sub(before));
    (result, above)
}

/// Returns the largest resident memory of this process so far.
pub fn peak() -> Option<u64> {
    field("VmHWM:")
}

/// Returns the memory that this process may still use: the machine's free memory, within the limits of its containers
/// (control groups) and its limit of addresses (RLIMIT_AS, as `ulimit -v` sets it).
pub fn available() -> Option<u64> {
    let machine = field_of("/proc/meminfo", "MemAvailable:")?;
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let left = groups.lines().filter_map(|line| left_by_group(line, Path::new("/sys/fs/cgroup")));
    left.chain(IS_LIMITED.then(left_of_addresses).flatten()).chain([machine]).min()
}

/// Whether the process has a limit of addresses.
static IS_LIMITED: LazyLock<bool> = LazyLock::new(|| limit_of_addresses().is_some());

/// Returns the bytes of addresses that the process may have, unless they are unlimited.
fn limit_of_addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    limits.lines().find_map(|line| line.strip_prefix("Max address space")?.split_whitespace().next()?.parse().ok())
}

/// Returns the bytes of addresses that the limit of the process leaves.
fn left_of_addresses() -> Option<u64> {
    Some(limit_of_addresses()?.saturating_sub(field("VmSize:")?))
}

/// Returns the bytes that a control group and its parents leave free, if any of these groups has a limit. The argument
/// `line` is a line of `/proc/self/cgroup`. The group's cached files count as free, because the kernel drops them when
/// memory is short.
fn left_by_group(line: &str, root: &Path) -> Option<u64> {
    let mut parts = line.splitn(3, ':').skip(1);
    // Version 2 has one hierarchy without a name; version 1 has one for each resource.
    let (folder, limit, used, cached) = match parts.next()? {
        "" => (root.to_path_buf(), "memory.max", "memory.current", "inactive_file"),
        "memory" => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        _ => return None,
    };
    let group = folder.join(parts.next()?.trim_start_matches('/'));
    let left = |group: &Path| {
        let number = |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let statistics = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = statistics.lines().find_map(|line| line.strip_prefix(cached)?.trim().parse().ok()).unwrap_or(0);
        Some(number(limit)?.saturating_sub(number(used)?.saturating_sub(cached)))
    };
    // In a container the path may belong to the host and be absent here; the root is then the container's group.
    let around = group.ancestors().take_while(|group| group.starts_with(&folder));
    around.filter_map(left).min()
}

/// Reads a field of `/proc/self/status` in bytes.
fn field(name: &str) -> Option<u64> {
    field_of("/proc/self/status", name)
}

/// Reads a field from a file in the format of `/proc/self/status`, and returns its value in bytes.
fn field_of(path: &str, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(path).ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn sees_a_large_allocation() {
        let (length, above) = peak_during(|| std::hint::black_box(vec![1u8; 64 << 20]).len() as u64);
        let all = peak().expect("Linux keeps the peak");
        assert!(all > length / 2, "{all} of {length}");
        // Some containers do not let a process reset its peak.
        let resets = std::fs::write("/proc/self/clear_refs", "5").is_ok();
        assert_eq!(above.is_some(), resets);
        assert!(above.is_none_or(|above| above > length / 2), "{above:?} of {length}");
    }

    #[test]
    fn more_than_there_is_is_refused_in_words() {
        assert_eq!((ask(0), ask(FEW)), (Ok(()), Ok(())));
        let shortage = ask(product([1 << 40, 1 << 12])).unwrap_err();
        assert_eq!(shortage.needed, 1 << 52);
        assert_eq!(ask(product([usize::MAX, 3, 4])).unwrap_err().needed, u64::MAX);
        assert!(ask(shortage.free / 2).is_ok());
        let words = Shortage { needed: 475_536_409_200_000, free: 21_000_000_000 }.to_string();
        assert_eq!(words, "takes about 475536409200000 bytes (432.5 TiB), 21000000000 (19.6 GiB) are free");
        let sizes = [0, 1536, 3 << 20, u64::MAX].map(|bytes| Size(bytes).to_string());
        assert_eq!(sizes, ["0.0 KiB", "1.5 KiB", "3.0 MiB", "16.0 EiB"]);
    }

    #[test]
    fn a_container_leaves_what_its_limit_does() {
        let root = tempfile::tempdir().unwrap();
        let write = |group: &str, files: &[(&str, &str)]| {
            let group = root.path().join(group);
            std::fs::create_dir_all(&group).unwrap();
            files.iter().for_each(|(name, text)| std::fs::write(group.join(name), text).unwrap());
        };
        write(
            "outer",
            &[("memory.max", "1000\n"), ("memory.current", "700\n"), ("memory.stat", "file 9\ninactive_file 100\n")],
        );
        write("outer/inner", &[("memory.max", "max\n"), ("memory.current", "50\n")]);
        let left = |line| left_by_group(line, root.path());
        assert_eq!(left("0::/outer/inner"), Some(400));
        assert_eq!(left("0::/"), None);
        assert_eq!(left("0::/of/the/host"), None);
        let first = [("memory.limit_in_bytes", "500"), ("memory.usage_in_bytes", "600"), ("memory.stat", "")];
        write("memory", &first);
        assert_eq!((left("4:memory:/of/the/host"), left("3:cpuset:/")), (Some(0), None));
    }
}
