//! The threads of an exchange through MPI. One thread does the work, some threads take messages, and the calling thread
//! moves messages between them and MPI.

use super::Ranks;
use super::pump::Pump;
use crate::comm::exchange::{Exchanged, Outbox, Shape, Take, refused};
use crate::error::{Error, Result};
use crate::process::backoff::Backoff;
use crossbeam::channel::{self, Receiver, Sender};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

const WORKING: u8 = 0;
const DONE: u8 = 1;
const FAILED: u8 = 2;

/// A message that arrived: its sender, its buffer, and its number of words.
type Arrived = (usize, Vec<u32>, usize);

impl Ranks {
    pub(in crate::comm) fn exchange<T: Send>(
        &self,
        shape: Shape,
        work: impl FnOnce(&Outbox<'_>) -> Result<T> + Send,
        take: Take<'_>,
    ) -> Result<(T, Exchanged)> {
        let work = match self.exchange_by_shm(shape, work, take) {
            Ok(done) => return done,
            Err(work) => work,
        };
        let started = Instant::now();
        let pump = Pump::new(self, shape)?;
        let (post, posted) = channel::unbounded();
        let (permit, permits) = channel::unbounded();
        let (full, taking) = channel::unbounded::<Arrived>();
        let (give_back, empty) = channel::unbounded::<Result<Vec<u32>>>();
        let place = self.place();
        // Each permit allows one message in flight.
        let transport = move |to: usize, message: Vec<u32>| {
            permits.recv().map_err(|_| refused())?;
            post.send((to, message)).map(|()| None).map_err(|_| refused())
        };
        let outbox = Outbox {
            shape,
            rank: place.rank,
            ranks: place.ranks,
            take,
            spare: Mutex::default(),
            transport: &transport,
        };
        for _ in 0..shape.outgoing {
            // The receiver is alive in this function.
            let _ = permit.send(());
        }
        let state = AtomicU8::new(WORKING);
        let outcome = std::thread::scope(|scope| {
            let (outbox, state) = (&outbox, &state);
            let worker = scope.spawn(move || {
                let done = work(outbox);
                state.store(if done.is_ok() { DONE } else { FAILED }, Ordering::SeqCst);
                done
            });
            for _ in 0..shape.takers {
                let (taking, give_back) = (taking.clone(), give_back.clone());
                scope.spawn(move || {
                    for (from, words, count) in taking {
                        // The send fails once the exchange has failed, because nobody receives any more.
                        let _ = give_back.send(take(from, &words[..count]).map(|()| words));
                    }
                });
            }
            // The mover owns the channels, so that a failure disconnects the takers and the threads that wait for a
            // permit.
            let mover = Mover { pump, outbox, posted, permit, full, empty };
            let moved = mover.run(state);
            let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            match (moved, done) {
                // Return the error of `take` first: `work` may have failed only because sends were refused after that.
                (Err(Some(cause)), _) => Err(cause),
                (_, Err(cause)) => Err(cause),
                (Err(None), Ok(_)) => {
                    Err(Error::internal("exchange messages", "work reported a failure but returned no error"))
                }
                (Ok(exchanged), Ok(done)) => Ok((done, exchanged)),
            }
        });
        outcome.map(|(done, exchanged)| (done, Exchanged { seconds: started.elapsed().as_secs_f64(), ..exchanged }))
    }
}

struct Mover<'a, 'o> {
    pump: Pump<'a>,
    outbox: &'o Outbox<'o>,
    posted: Receiver<(usize, Vec<u32>)>,
    permit: Sender<()>,
    full: Sender<Arrived>,
    empty: Receiver<Result<Vec<u32>>>,
}

impl Mover<'_, '_> {
    /// Moves messages until every rank's work is done and all messages are taken. Fails with the error of `take`, or
    /// with `None` if `work` has failed.
    fn run(mut self, state: &AtomicU8) -> Result<Exchanged, Option<Error>> {
        let shape = self.outbox.shape;
        // Zeroed pages take no memory until a message is written to them.
        for _ in 0..shape.incoming {
            self.pump.accept(vec![0; shape.words]);
        }
        let mut backoff = Backoff::default();
        let mut taken = shape.incoming;
        loop {
            // Read the state before emptying the queue. If the work is done, the queue then has all of its messages.
            let working = state.load(Ordering::SeqCst);
            if working == FAILED {
                return Err(None);
            }
            let mut moved = false;
            while let Ok((to, message)) = self.posted.try_recv() {
                self.pump.send(to, message);
                moved = true;
            }
            if working == DONE {
                self.pump.end_sending();
            }
            self.pump.poll_sent(|message| {
                self.outbox.recycle(message);
                let _ = self.permit.send(());
                moved = true;
            });
            self.pump.poll_arrived(|from, words, count| {
                taken -= 1;
                // If the takers are gone, one has panicked, and the process ends.
                let _ = self.full.send((from, words, count));
                moved = true;
            });
            while let Ok(buffer) = self.empty.try_recv() {
                self.pump.accept(buffer.map_err(Some)?);
                taken += 1;
                moved = true;
            }
            if taken == shape.incoming && self.pump.complete() {
                return Ok(self.pump.finish());
            }
            if moved {
                backoff.reset();
            } else if let Some(nap) = backoff.nap() {
                // A message to send ends the wait.
                if let Ok((to, message)) = self.posted.recv_timeout(nap) {
                    self.pump.send(to, message);
                }
            }
        }
    }
}
