//! One rank of the tests of `comm`, started by tests/comm.rs through mpirun: `ranks CASE`. Each rank computes by itself,
//! from all ranks' numbers, what an operation should give. It ends as `gpugraph` does.

#[path = "../gpu/bfs_cases.rs"]
mod bfs_cases;
mod exchange;
mod gpus;
mod operations;
mod rounds;
mod rounds_memory;
mod rounds_speed;
#[path = "../gpu/rows.rs"]
#[allow(dead_code)] // those with weights, and packed ones
mod rows;

use gpugraph::internals::comm::{self, Comm};
use gpugraph::internals::error::{Error, Result};
use std::time::Duration;

fn main() {
    comm::report_panics();
    if let Err(e) = gpugraph::internals::process::signals::install().and_then(|()| run()) {
        comm::end_with(&e);
    }
}

fn run() -> Result<()> {
    let case = std::env::args().nth(1).unwrap_or_default();
    let comm = Comm::open()?;
    let last = comm.ranks() - 1;
    match case.as_str() {
        "operations" => {
            // With the chunk as it is, and with pieces so small that everything crosses them. Ranks meet for each piece, so there are at most
            // some hundreds.
            for (chunk, longest) in [(None, 5001), (Some(16), 1023), (Some(1000), 5001), (Some(4096), 5001)] {
                chunk.into_iter().for_each(|chunk| comm.set_chunk(chunk));
                operations::all(&comm, longest);
            }
            operations::mail(&comm);
            operations::stealing(&comm);
        }
        "large" => {
            let shared = operations::sees_shared_memory(|| operations::large(&comm));
            println!("shared {shared}");
        }
        "exchange" => exchange::all(&comm)?,
        "failing-take" => exchange::failing_take(&comm)?,
        "failing-work" => exchange::failing_work(&comm)?,
        "panic" if comm.rank() == last => panic!("as ordered\nin two lines"),
        "panic-on-a-thread" if comm.rank() == last => {
            let panics = || std::thread::spawn(|| panic!("on a thread")).join();
            let _ = panics();
        }
        "panic-in-work" => exchange::panic_in_work(&comm)?,
        "error" if comm.rank() == last => return Err(Error::Lost("the GPU of this rank is gone".into())),
        "alike" => return Err(Error::Usage("unknown key".into())),
        "one-usage" if comm.rank() == last => return Err(Error::Usage("only here".into())),
        "stopped" => {
            // The leader is the last to be done with saving.
            if comm.is_leader() {
                std::thread::sleep(Duration::from_secs(1));
                eprintln!("saved");
            }
            return Err(Error::Stopped("SIGUSR1"));
        }
        "stopped-alone" if comm.rank() == last => return Err(Error::Stopped("SIGUSR1")),
        "exchange-speed" => exchange::speed(&comm)?,
        "gpus" => gpus::search(&comm)?,
        "rounds" => rounds::all(&comm)?,
        "rounds-memory" => rounds_memory::bounded(&comm)?,
        "other-words-in-round" => rounds::other_words(&comm)?,
        "failing-take-in-round" => rounds::failing_take(&comm)?,
        "killed-in-round" => rounds::killed(&comm)?,
        "waiting-in-round" => rounds::waiting(&comm)?,
        "rounds-speed" => rounds_speed::speed(&comm)?,
        "killed-in-exchange" => exchange::killed(&comm)?,
        "killed" if comm.rank() == last => kill_myself(),
        "wait-for-signal" => {
            println!("waiting {}", comm.rank());
            // A minute, should none come.
            for _ in 0..6000 {
                gpugraph::internals::process::signals::check()?;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        "place" => {
            let placed = [comm.rank(), comm.ranks(), comm.local_rank(), comm.local_ranks(), comm.nodes()];
            println!("placed {placed:?}");
        }
        "open-twice" => assert_eq!(Comm::open()?.rank(), comm.rank()),
        _ => {}
    }
    // Those that nothing happens to wait here.
    comm.barrier();
    println!("passed {}", comm.rank());
    comm.close();
    Ok(())
}

fn kill_myself() {
    let _ = std::process::Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
    std::thread::sleep(Duration::from_secs(60));
}

/// A number for each place: splitmix64. Without loops and closures, which take most of the time where nothing is optimised.
fn random([a, b, c]: [u64; 3]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut x = a.wrapping_mul(FACTOR).rotate_left(23);
    x = (x ^ b).wrapping_mul(FACTOR).rotate_left(23);
    x = (x ^ c).wrapping_mul(FACTOR).rotate_left(23);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
