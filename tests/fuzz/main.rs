//! Mutated inputs of every format, seeded: whatever the bytes are, the library reads the graph that they hold or refuses
//! them with a sentence. It neither panics nor hangs, takes memory by no header's claim, and never reads another graph:
//! a second reader (`reader`) says which one it is.
//!
//! `GPUGRAPH_FUZZ_CASES=100000 cargo test --release --target-dir target/tests --test fuzz -- --nocapture` tries more of them, and
//! `GPUGRAPH_FUZZ_FROM` says at which number to begin.

#[path = "../support/gather.rs"]
mod gather;
#[path = "../support/mod.rs"]
mod support;

mod check;
mod corpus;
mod jobs;
mod mutate;
mod program;
mod reader;
mod strings;
mod watch;
mod weights;

use std::panic::{AssertUnwindSafe, catch_unwind};

use check::{Case, End};
use support::Place;

/// The number that a variable of the environment has.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name}={value} is no number")))
}

/// Runs a case; a panic is a failure, too.
fn run(case: &Case, place: &Place) -> Result<End, String> {
    let attempt = catch_unwind(AssertUnwindSafe(|| case.check(&place.path(""))));
    attempt.unwrap_or_else(|_| Err("it panicked".to_owned()))
}

#[test]
fn mutated_inputs_are_read_as_meant_or_refused() {
    let cases = setting("GPUGRAPH_FUZZ_CASES").unwrap_or(2000);
    let from = setting("GPUGRAPH_FUZZ_FROM").unwrap_or(0);
    let (found, place, watch) = (corpus::found(), Place::new(), watch::Watch::start());
    let mut ends = [0u64; 3];
    let mut wrong = Vec::new();
    for number in from..from + cases {
        let case = Case::draw(number, &found);
        let ended = watch.case(number, || run(&case, &place));
        match ended {
            Ok(end) => ends[end as usize] += 1,
            Err(what) => {
                let kind = |what: &str| what.chars().take(9).collect::<String>();
                let same = |case: &Case| run(case, &place).is_err_and(|other| kind(&other) == kind(&what));
                let small = check::shrink(&case, &same);
                let what = run(&small, &place).err().unwrap_or(what);
                wrong.push(format!("case {number}, {}: {what}", small.describe()));
            }
        }
        if wrong.len() >= 200 {
            break;
        }
    }
    let [read, refused, open] = ends;
    println!("{cases} mutated inputs: {read} read, {refused} refused, {open} refused that might have been read");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong.join("\n"));
    // A reader that refuses all, or a corpus that holds nothing, would pass as well.
    assert!(read * 6 > cases && refused * 10 > cases, "{read} read and {refused} refused of {cases}");
}
