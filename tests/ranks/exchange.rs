//! Many-to-many messages.

use super::{kill_myself, random};
use gpugraph::internals::comm::{Comm, MessageLimits, Outbox};
use gpugraph::internals::error::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Where the messages of a test go.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    Anywhere,
    /// All to the leader, who sends nothing.
    ToLeader,
    /// Nine of ten to the last.
    Skewed,
    /// To the next rank only.
    Ring,
    Nothing,
}

pub fn all(comm: &Comm) -> Result<()> {
    let shapes = [
        MessageLimits { words: 1, outgoing: 1, incoming: 1, takers: 1 },
        MessageLimits { words: 13, outgoing: 2, incoming: 3, takers: 2 },
        MessageLimits { words: 5000, outgoing: 4, incoming: 4, takers: 2 },
        MessageLimits { words: 65_536, outgoing: 3, incoming: 2, takers: 1 },
    ];
    use Pattern::{Anywhere, Nothing, Ring, Skewed, ToLeader};
    // One after the other without a barrier: a fast rank is in the next while another still takes.
    for (number, shape) in shapes.into_iter().enumerate() {
        for pattern in [Anywhere, ToLeader, Skewed, Ring, Nothing] {
            for threads in [1, 3] {
                one(comm, shape, pattern, threads, number as u64)?;
            }
        }
    }
    let wrong = MessageLimits { words: 0, outgoing: 1, incoming: 1, takers: 1 };
    assert!(comm.exchange(wrong, |_| Ok(()), |_, _| Ok(())).is_err());
    Ok(())
}

const MESSAGES: u64 = 40;

/// The message `number` of a thread, and where it goes. Its words say who sent it, and more by count.
fn message(ranks: u64, from: u64, number: u64, shape: MessageLimits, pattern: Pattern) -> Option<(usize, Vec<u32>)> {
    let random = random([from, number, 11]);
    let to = match pattern {
        Pattern::Anywhere => random % ranks,
        Pattern::ToLeader if from != 0 => 0,
        Pattern::Skewed if !random.is_multiple_of(10) => ranks - 1,
        Pattern::Skewed => random / 10 % ranks,
        Pattern::Ring => (from + 1) % ranks,
        Pattern::ToLeader | Pattern::Nothing => return None,
    };
    let words = random as usize / 64 % (shape.words + 1);
    Some((to as usize, (0..words as u64).map(|at| (random as u32).wrapping_add(at as u32 * 7)).collect()))
}

fn one(comm: &Comm, shape: MessageLimits, pattern: Pattern, threads: u64, salt: u64) -> Result<()> {
    let (rank, ranks) = (comm.rank() as u64, comm.ranks() as u64);
    let of = |from: u64, number: u64| message(ranks, from, number + salt * 1000, shape, pattern);
    let taken = Mutex::new(vec![Vec::new(); comm.ranks()]);
    let send = |outbox: &Outbox<'_>, thread: u64| -> Result<()> {
        for number in (0..MESSAGES).filter(|number| number % threads == thread) {
            let Some((to, words)) = of(rank, number) else { continue };
            let mut buffer = outbox.buffer();
            assert!(buffer.is_empty() && buffer.capacity() >= shape.words);
            buffer.extend(words);
            outbox.send(to, buffer)?;
        }
        Ok(())
    };
    let work = |outbox: &Outbox<'_>| -> Result<u64> {
        std::thread::scope(|scope| {
            let senders: Vec<_> = (0..threads).map(|thread| scope.spawn(move || send(outbox, thread))).collect();
            senders.into_iter().try_for_each(|sender| sender.join().expect("a thread"))
        })?;
        // Some go on working long after their last message, others are done at once.
        std::thread::sleep(Duration::from_millis(random([rank, salt, 13]) % 3));
        Ok(rank + 1)
    };
    let take = |from: usize, words: &[u32]| {
        if random([rank, u64::from(words[0]), 17]).is_multiple_of(16) {
            std::thread::sleep(Duration::from_micros(300));
        }
        taken.lock().expect("no panic").get_mut(from).expect("a rank").push(words.to_vec());
        Ok(())
    };
    let (done, moved) = comm.exchange(shape, work, take)?;
    assert_eq!(done, rank + 1);

    let (mut sent, mut received) = (0, 0);
    for from in 0..ranks {
        let all: Vec<_> = (0..MESSAGES).filter_map(|number| of(from, number)).filter(|(_, w)| !w.is_empty()).collect();
        let bytes = |words: &Vec<u32>| words.len() as u64 * 4;
        let mut expected: Vec<Vec<u32>> = all.iter().filter(|m| m.0 as u64 == rank).map(|m| m.1.clone()).collect();
        if from != rank {
            received += expected.iter().map(bytes).sum::<u64>();
        } else {
            sent = all.iter().filter(|m| m.0 as u64 != rank).map(|m| bytes(&m.1)).sum();
        }
        let mut taken = std::mem::take(&mut taken.lock().expect("no panic")[from as usize]);
        taken.sort();
        expected.sort();
        assert_eq!(taken, expected, "from {from}: {shape:?} {pattern:?}");
    }
    assert_eq!((moved.sent_bytes, moved.received_bytes), (sent, received));
    Ok(())
}

const SMALL: MessageLimits = MessageLimits { words: 1000, outgoing: 2, incoming: 3, takers: 2 };

/// Sends to all for a minute, or until it is refused.
fn send_for_long(comm: &Comm, outbox: &Outbox<'_>) -> Result<()> {
    for number in 0..60_000 {
        let mut buffer = outbox.buffer();
        buffer.resize(1000, number);
        outbox.send(number as usize % comm.ranks(), buffer)?;
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// The last rank's `take` fails after a while: its error is what the exchange says, and the job ends.
pub fn failing_take(comm: &Comm) -> Result<()> {
    let count = AtomicU64::new(0);
    let take = |_: usize, _: &[u32]| {
        if comm.rank() + 1 == comm.ranks() && count.fetch_add(1, Ordering::SeqCst) == 20 {
            return Err(Error::DiskFull { path: "spill".into(), what: "no bin has room".into() });
        }
        Ok(())
    };
    comm.exchange(SMALL, |outbox| send_for_long(comm, outbox), take).map(|_| ())
}

pub fn failing_work(comm: &Comm) -> Result<()> {
    let work = |outbox: &Outbox<'_>| {
        if comm.rank() + 1 == comm.ranks() {
            outbox.send(0, vec![1; 10])?;
            return Err(Error::corrupt("block", gpugraph::internals::error::At::File, "a checksum"));
        }
        send_for_long(comm, outbox)
    };
    comm.exchange(SMALL, work, |_, _| Ok(())).map(|_| ())
}

pub fn panic_in_work(comm: &Comm) -> Result<()> {
    let work = |outbox: &Outbox<'_>| {
        assert!(comm.rank() + 1 != comm.ranks(), "at work");
        send_for_long(comm, outbox)
    };
    comm.exchange(SMALL, work, |_, _| Ok(())).map(|_| ())
}

pub fn killed(comm: &Comm) -> Result<()> {
    let take = |from: usize, words: &[u32]| {
        if comm.rank() + 1 == comm.ranks() && from == 0 && words[0] > 50 {
            kill_myself();
        }
        Ok(())
    };
    comm.exchange(SMALL, |outbox| send_for_long(comm, outbox), take).map(|_| ())
}

/// Prints the rates of an exchange and of a sum of shares; for people, no test asks for it.
pub fn speed(comm: &Comm) -> Result<()> {
    let shape = MessageLimits { words: 65_536, outgoing: 8, incoming: 8, takers: 1 };
    let work = |outbox: &Outbox<'_>| {
        for number in 0..4096usize {
            let mut buffer = outbox.buffer();
            buffer.resize(shape.words, 1);
            outbox.send((comm.rank() + 1 + number % (comm.ranks() - 1).max(1)) % comm.ranks(), buffer)?;
        }
        Ok(())
    };
    let (_, moved) = comm.exchange(shape, work, |_, _| Ok(()))?;
    let mut values = vec![1u32; 1 << 27];
    comm.barrier();
    let start = std::time::Instant::now();
    comm.reduce_scatter(&mut values);
    let summed = start.elapsed().as_secs_f64();
    comm.all_gather_shares(&mut values);
    let gathered = start.elapsed().as_secs_f64() - summed;
    let rate = moved.sent_bytes as f64 / moved.seconds / 1e9;
    println!(
        "exchange {rate:.2} GB/s sent by each; 0.5 GiB: reduce_scatter {summed:.2} s, all_gather_shares {gathered:.2} s"
    );
    Ok(())
}
