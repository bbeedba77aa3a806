//! A bounded queue in memory that processes share, for any number of producers and consumers. Each cell has the number
//! of its turn (Vyukov's bounded MPMC queue). The queue consists only of atomics, so a process that dies never blocks
//! the others.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words before the cells: the number of items taken and the number of items put in, each on its own cache line.
const HEAD: usize = 16;
const TAKEN: usize = 0;
const PUT: usize = 8;
/// Words of a cell: its turn and an item of two words.
const CELL: usize = 3;

/// A bounded queue in shared words. Words of zero are an empty queue.
pub(super) struct Queue<'a> {
    words: &'a [AtomicU64],
    cells: u64,
}

impl<'a> Queue<'a> {
    /// Returns the number of words that a queue for `items` items needs.
    pub(super) fn words(items: usize) -> usize {
        HEAD + items.next_power_of_two().max(2) * CELL
    }

    pub(super) fn new(words: &'a [AtomicU64]) -> Self {
        Queue { words, cells: ((words.len() - HEAD) / CELL) as u64 }
    }

    fn cell(&self, number: u64) -> &[AtomicU64] {
        &self.words[HEAD + (number % self.cells) as usize * CELL..][..CELL]
    }

    /// Puts an item in. Returns false if the queue is full.
    pub(super) fn put(&self, item: [u64; 2]) -> bool {
        let mut number = self.words[PUT].load(Ordering::Relaxed);
        loop {
            // A cell is free for item n at turn n, and contains it at turn n + 1. The stored turn is less by the cell's
            // index, so that zeros are free cells.
            let cell = self.cell(number);
            let turn = cell[0].load(Ordering::Acquire) + number % self.cells;
            if turn < number {
                return false;
            }
            if turn == number {
                match self.words[PUT].compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => {
                        cell[1].store(item[0], Ordering::Relaxed);
                        cell[2].store(item[1], Ordering::Relaxed);
                        cell[0].store(number + 1 - number % self.cells, Ordering::Release);
                        return true;
                    }
                    Err(now) => number = now,
                }
            } else {
                number = self.words[PUT].load(Ordering::Relaxed);
            }
        }
    }

    /// Takes the first item. Returns `None` if the queue is empty.
    pub(super) fn take(&self) -> Option<[u64; 2]> {
        let mut number = self.words[TAKEN].load(Ordering::Relaxed);
        loop {
            let cell = self.cell(number);
            let turn = cell[0].load(Ordering::Acquire) + number % self.cells;
            if turn < number + 1 {
                return None;
            }
            if turn == number + 1 {
                match self.words[TAKEN].compare_exchange_weak(number, number + 1, Ordering::Relaxed, Ordering::Relaxed)
                {
                    Ok(_) => {
                        let item = [cell[1].load(Ordering::Relaxed), cell[2].load(Ordering::Relaxed)];
                        cell[0].store(number + self.cells - number % self.cells, Ordering::Release);
                        return Some(item);
                    }
                    Err(now) => number = now,
                }
            } else {
                number = self.words[TAKEN].load(Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn zeroed(items: usize) -> Vec<AtomicU64> {
        (0..Queue::words(items)).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn items_come_out_in_order_and_a_full_queue_says_so() {
        for items in [1, 2, 3, 8] {
            let words = zeroed(items);
            let queue = Queue::new(&words);
            let room = items.next_power_of_two().max(2) as u64;
            for round in 0..5 {
                assert_eq!(queue.take(), None);
                assert!((0..room).all(|n| queue.put([n, round])));
                assert!(!queue.put([99, 99]));
                assert!((0..room).all(|n| queue.take() == Some([n, round])));
            }
        }
    }

    #[test]
    fn many_threads_get_every_item_once() {
        let words = zeroed(4);
        let queue = Queue::new(&words);
        let taken = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..3u64 {
                let (queue, taken) = (&queue, &taken);
                scope.spawn(move || {
                    for n in 0..5000 {
                        while !queue.put([thread, thread * 5000 + n]) {
                            std::thread::yield_now();
                        }
                    }
                });
                scope.spawn(move || {
                    let mut mine = Vec::new();
                    while mine.len() < 5000 {
                        match queue.take() {
                            Some(item) => mine.push(item),
                            None => std::thread::yield_now(),
                        }
                    }
                    taken.lock().expect("no panic").extend(mine);
                });
            }
        });
        let mut taken = taken.into_inner().expect("no panic");
        taken.sort();
        assert_eq!(taken, (0..15_000).map(|n| [n / 5000, n]).collect::<Vec<_>>());
    }
}
