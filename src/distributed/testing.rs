//! Simulates processes by threads, for tests.

use std::sync::{Barrier, Mutex};

use super::Processes;

struct Member<'a> {
    rank: usize,
    messages: &'a Mutex<Vec<Vec<u8>>>,
    barrier: &'a Barrier,
    count: usize,
}

impl Processes for Member<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn count(&self) -> usize {
        self.count
    }

    fn gather(&self, own: Vec<u8>) -> Vec<Vec<u8>> {
        self.messages.lock().unwrap()[self.rank] = own;
        self.barrier.wait();
        let all = self.messages.lock().unwrap().clone();
        // Nobody writes again before everybody has read.
        self.barrier.wait();
        all
    }
}

/// Runs `work` in `count` processes, and returns their results.
pub(crate) fn in_processes<T: Send>(count: usize, work: impl Fn(&dyn Processes) -> T + Sync) -> Vec<T> {
    let (messages, barrier) = (Mutex::new(vec![Vec::new(); count]), Barrier::new(count));
    std::thread::scope(|threads| {
        let start = |rank| {
            let (member, work) = (Member { rank, messages: &messages, barrier: &barrier, count }, &work);
            threads.spawn(move || work(&member))
        };
        let started: Vec<_> = (0..count).map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
