//! The program itself on mutated inputs: how it exits, what it prints, what it leaves.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::check::Case;
use crate::corpus;
use crate::reader::{Edge, Reading};
use crate::support::{Place, Ran, number, triangles};

/// How many inputs; each is a job and a conversion.
const CASES: u64 = 60;

#[test]
fn the_program_answers_mutated_inputs_or_exits_with_3() {
    let (found, mut exits) = (corpus::found(), [0; 2]);
    // Other cases than those of the library.
    for number in 1 << 32..(1 << 32) + CASES {
        let case = Case::draw(number, &found);
        let about = format!("case {number}, {}", case.describe());
        let place = Place::new();
        place.write(&case.name(), case.packed());
        let wanted = case.wanted();
        for convert in [true, false] {
            let ran = if convert { converted(&place, &case) } else { counted(&place, &case) };
            let ran = ran.unwrap_or_else(|| panic!("{about}: it hangs"));
            assert!(!ran.err.contains("panicked"), "{about}: {}", ran.err);
            match ran.code {
                0 => {
                    let wanted = wanted.as_ref().unwrap_or_else(|| panic!("{about}: to be refused, but exit 0"));
                    if convert {
                        written(&place, wanted, &about)
                    } else {
                        answered(&place, wanted, &about)
                    }
                    exits[0] += 1;
                }
                3 => {
                    assert!(wanted.as_ref().is_none_or(|wanted| wanted.open), "{about}: {}", ran.err);
                    assert!(ran.error().contains(&case.name()), "{about}: {}", ran.err);
                    assert!(ran.error().contains("expected ") && ran.error().contains("; "), "{about}: {}", ran.err);
                    let left: Vec<_> = fs::read_dir(place.path("")).expect("a folder").flatten().collect();
                    assert!(!convert || left.len() == 1, "{about}: it leaves {left:?}");
                    exits[1] += 1;
                }
                code => panic!("{about}: exit {code}: {}", ran.err),
            }
        }
    }
    println!("{} answered, {} refused", exits[0], exits[1]);
    assert!(exits.iter().all(|count| *count > CASES / 4), "{exits:?}");
}

/// `gpugraph convert IN out.u64`.
fn converted(place: &Place, case: &Case) -> Option<Ran> {
    let name = case.name();
    let format = case.file.format().to_string();
    let named = ["--from", &format];
    ended(place, &[&["convert", &name[..], "out.u64"][..], if case.named { &named[..] } else { &[] }].concat())
}

/// `gpugraph run job.toml` in little memory.
fn counted(place: &Place, case: &Case) -> Option<Ran> {
    let format = if case.named { format!("format = '{}'", case.file.format()) } else { String::new() };
    let more = "[limits]\nhost_memory = '128MiB'\nthreads = 2\n[run]\ndevice = 'cpu'";
    place.job(&format!("path = '{}'\n{format}", place.path(case.name()).display()), more);
    ended(place, &["run", "job.toml"])
}

/// Runs it to its end; nothing if that does not come within a minute.
fn ended(place: &Place, args: &[&str]) -> Option<Ran> {
    let mut command = place.command(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start gpugraph");
    let started = Instant::now();
    while child.try_wait().expect("its state").is_none() {
        if started.elapsed() > Duration::from_secs(60) {
            child.kill().expect("its end");
            return None;
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    let output = child.wait_with_output().expect("its output");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(Ran { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) })
}

/// The converted file holds these edges.
fn written(place: &Place, wanted: &Reading, about: &str) {
    let out = place.path("out.u64");
    let bytes = fs::read(&out).expect("the output");
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
    let mut edges: Vec<Edge> = bytes.chunks_exact(16).map(|edge| [word(&edge[..8]), word(&edge[8..])]).collect();
    edges.sort_unstable();
    let mut wanted = wanted.edges.clone();
    wanted.sort_unstable();
    assert_eq!(edges, wanted, "{about}");
}

/// The report has the figures of these edges.
fn answered(place: &Place, wanted: &Reading, about: &str) {
    let report = place.read_report();
    let simple: BTreeSet<Edge> =
        wanted.edges.iter().filter(|[u, v]| u != v).map(|[u, v]| [*u.min(v), *u.max(v)]).collect();
    let count: usize = simple.iter().map(|[u, v]| third(&simple, *u, *v)).sum();
    assert_eq!(triangles(&report), count as u64, "{about}");
    assert_eq!(number(&report, "graph.edges"), simple.len() as u64, "{about}");
    assert_eq!(number(&report, "input.edges"), wanted.edges.len() as u64, "{about}");
    let loops = wanted.edges.iter().filter(|[u, v]| u == v).count();
    assert_eq!(number(&report, "input.self_loops"), loops as u64, "{about}");
    assert!(number(&report, "limits.host_memory_peak") <= 128 << 20, "{about}");
}

/// Vertices above `v` that are neighbours of both.
fn third(simple: &BTreeSet<Edge>, u: u64, v: u64) -> usize {
    simple.range([v, 0]..=[v, u64::MAX]).filter(|[_, w]| simple.contains(&[u, *w])).count()
}
