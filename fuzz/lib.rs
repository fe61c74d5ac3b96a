//! What the fuzz targets share. Readers take paths, so each process keeps one file for its inputs.

use std::path::PathBuf;
use std::sync::OnceLock;

/// The input as a file of this process, written anew each time.
pub fn as_file(bytes: &[u8]) -> PathBuf {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let path = FILE.get_or_init(|| {
        let memory = PathBuf::from("/dev/shm");
        let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
        folder.join(format!("burn-rank-fuzz-{}", std::process::id()))
    });
    std::fs::write(path, bytes).expect("the folder of temporary files is writable");
    path.clone()
}

/// Leaves panics of other crates to the reader, which turns them into errors; one that nobody catches stops the fuzzer
/// all the same.
pub fn pass_over_panics_of_others() {
    let stop = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let is_of_others = panic.location().is_some_and(|place| place.file().contains("/registry/src/"));
        if !is_of_others {
            stop(panic);
        }
    }));
}

/// The first byte, which chooses among variants, and the rest.
pub fn choice(bytes: &[u8]) -> (usize, &[u8]) {
    bytes.split_first().map_or((0, bytes), |(&first, rest)| (first.into(), rest))
}
