//! Simulates processes by threads, for tests.

use std::sync::{Arc, Barrier, Mutex};

use super::{ProcessGroup, Processes};

struct Member {
    rank: usize,
    messages: Arc<Mutex<Vec<Vec<u8>>>>,
    barrier: Arc<Barrier>,
    count: usize,
}

impl Processes for Member {
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
pub(crate) fn in_processes<T: Send>(count: usize, work: impl Fn(&ProcessGroup) -> T + Sync) -> Vec<T> {
    let (messages, barrier) = (Arc::new(Mutex::new(vec![Vec::new(); count])), Arc::new(Barrier::new(count)));
    std::thread::scope(|threads| {
        let start = |rank| {
            let (messages, barrier, work) = (messages.clone(), barrier.clone(), &work);
            threads.spawn(move || work(&ProcessGroup::new(Member { rank, messages, barrier, count })))
        };
        let started: Vec<_> = (0..count).map(start).collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
