//! The top of a report: the state of the job, its answers, the time and memory that it used, and reasons to trust it.

use super::page::{Page, Severity};
use super::results::from;
use super::time::shown_time;
use super::value::{number, shown, unit};
use super::workdir_contents::{RunState, Unfinished, WorkdirContents, results};
use crate::algo;
use crate::chart::Unit;
use crate::chart::unit::group;
use crate::process::log::timestamp;
use crate::process::metrics::Sample;
use crate::quote::clip_to;
use serde_json::Value;
use std::time::SystemTime;

/// Maximum number of characters of a name within a sentence.
const NAME: usize = 200;
/// Maximum number of algorithms that the summary mentions.
const ALGORITHMS: usize = 20;

/// Returns the report page of a workdir, complete except for its sections.
pub(super) fn page(seen: &WorkdirContents) -> Page {
    let report = &seen.report;
    let name = report["job"].as_str().filter(|name| !name.is_empty());
    let folder = seen.workdir.file_name().map(|name| name.to_string_lossy());
    let name = name.or(folder.as_deref()).unwrap_or("a job");
    let (state, mood) = match seen.state {
        RunState::Finished => ("Finished".to_owned(), Severity::Good),
        RunState::Running => ("Running".to_owned(), Severity::Wait),
        RunState::Stopped => ("Stopped".to_owned(), Severity::Wait),
        RunState::Killed => ("Killed or lost".to_owned(), Severity::Wait),
        RunState::Failed(code) => (format!("Failed, exit code {code}"), Severity::Bad),
        RunState::Unknown => ("Not known".to_owned(), Severity::Bad),
    };
    let mut notices: Vec<String> = seen.faults.clone();
    if let Some(why) = &seen.why {
        let again =
            if matches!(seen.state, RunState::Failed(2..=8)) { "" } else { " The same command continues from there." };
        notices.insert(0, format!("{}{again}", sentence(why)));
    }
    Page {
        title: clip_to(name, NAME),
        state,
        mood,
        lead: lead(seen),
        notices,
        answers: answers(report),
        costs: costs(seen),
        trust: trust(seen),
        log: seen.log.clone(),
        footer: format!(
            "Made by gpugraph {} from {} at {}. gpugraph report recreates it; report.json has all numbers in base units.",
            env!("CARGO_PKG_VERSION"),
            seen.workdir.display(),
            timestamp(SystemTime::now())
        ),
        ..Page::default()
    }
}

/// Returns the reason for the end of a run as a sentence, with a capital first letter unless the text starts with a
/// file name.
fn sentence(why: &str) -> String {
    let is_word = why.split(' ').next().is_some_and(|word| word.bytes().all(|b| b.is_ascii_lowercase()));
    let begin = why.chars().next().filter(|_| is_word).map(|first| first.to_ascii_uppercase());
    let rest = if begin.is_some() { &why[1..] } else { why };
    let stop = if why.ends_with('.') { "" } else { "." };
    format!("{}{rest}{stop}", begin.map_or(String::new(), String::from))
}

/// Returns a sentence about the input, the machine and the time of the job.
fn lead(seen: &WorkdirContents) -> String {
    let report = &seen.report;
    let count = |value: &Value| shown(value, Unit::Count);
    let mut text = String::new();
    text += &match (&report["graph"]["vertices"], &report["graph"]["edges"], &report["input"]["elements"]) {
        (vertices @ Value::Number(_), Value::Null, _) => format!("A graph of {} vertices", count(vertices)),
        (vertices @ Value::Number(_), edges, _) => {
            format!("A graph of {} vertices and {} edges", count(vertices), count(edges))
        }
        (_, _, elements @ Value::Number(_)) => format!("A list of {} elements", count(elements)),
        _ => "No graph or list was read".to_owned(),
    };
    if let Some(path) = report["input"]["path"].as_str() {
        text += &format!(" ({})", clip_to(path, NAME));
    }
    if let Some(device) = report["device"].as_str() {
        text += if device == "gpu" { ", on a GPU" } else { ", on CPUs" };
    }
    if let Some(ranks) = number(&report["ranks"]).filter(|&ranks| ranks > 1.0) {
        text += &format!(", by {ranks} ranks");
    }
    if let Some(host) = report["host"]["name"].as_str() {
        text += &format!(", on {}", clip_to(host, NAME));
    }
    if let Some(run) = seen.metrics.runs.last() {
        text += &format!(", {}", shown_time(run.began + run.seconds));
    }
    text + "."
}

/// Returns the answers, each as a pair: its first sentence, and the remaining text. The sentences come from the
/// algorithm that computed the answer.
fn answers(report: &Value) -> Vec<(String, String)> {
    let answer = |(name, result): (&String, &Value)| {
        let sentences = algo::find(name).map(|algorithm| (algorithm.sentences)(result)).unwrap_or_default();
        let mut more = format!("{name}: {}, without preparation", shown(&result["seconds"], Unit::Seconds));
        if result["harmonic_mean_teps"].is_number() {
            more += &format!("; {} by harmonic mean", shown(&result["harmonic_mean_teps"], Unit::Teps));
        }
        if let Some(from) = from(result) {
            more += &format!("; found {from}");
        }
        match sentences.split_first() {
            Some((first, others)) => (first.clone(), [others, &[more]].concat().join(" ")),
            None => (result["answer"].as_str().map_or_else(|| name.clone(), grouped), more),
        }
    };
    results(report).into_iter().take(ALGORITHMS).map(answer).collect()
}

/// Returns `words` with commas in long numbers. Numbers after a word such as `source` are ids and remain unchanged.
fn grouped(words: &str) -> String {
    let mut is_id = false;
    let one = |word: &str| {
        let is_long = word.len() > 3 && word.bytes().all(|b| b.is_ascii_digit());
        let shown = if is_long && !is_id { group(word) } else { word.to_owned() };
        is_id = unit(word) == Unit::Text;
        shown
    };
    words.split(' ').map(one).collect::<Vec<_>>().join(" ")
}

fn costs(seen: &WorkdirContents) -> Vec<(String, String)> {
    let (report, limits) = (&seen.report, &seen.report["limits"]);
    let mut costs = Vec::new();
    let mut add = |name: &str, value: String| costs.push((name.to_owned(), value));
    if !report["seconds_total"].is_null() {
        add("time, all runs", shown(&report["seconds_total"], Unit::Seconds));
    }
    for (name, result) in results(report).into_iter().take(ALGORITHMS) {
        add(&format!("{name} alone"), trials(result));
    }
    for (name, peak, limit) in
        [("host memory", "host_memory_peak", "host_memory"), ("GPU memory", "gpu_memory_peak", "gpu_memory")]
    {
        let Some(peak) = number(&limits[peak]).filter(|&peak| peak > 0.0) else { continue };
        let limit = number(&limits[limit]).filter(|&limit| limit > 0.0);
        let of = limit.map_or(String::new(), |limit| format!(" of {}", Unit::Bytes.show(limit)));
        add(&format!("{name} at most"), Unit::Bytes.show(peak) + &of);
    }
    let Sample { cpu, read, written, sent, energy, .. } = Sample::merge(&seen.metrics.samples);
    let kib = |kib: u64| Unit::Bytes.show(1024.0 * kib as f64);
    if !seen.metrics.samples.is_empty() {
        add("processor time", Unit::Seconds.show(cpu as f64 / 1e3));
        add("read from disk", kib(read));
        add("written to disk", kib(written));
    }
    if sent > 0 {
        add("sent by rank 0", kib(sent));
    }
    if energy > 0 {
        add("energy", Unit::Joules.show(energy as f64 / 1e3));
    }
    costs
}

/// Returns the time of a result, with the number of trials if there are several.
fn trials(result: &Value) -> String {
    let seconds = shown(&result["seconds"], Unit::Seconds);
    match result["trials"].as_array().map_or(0, Vec::len) {
        0 | 1 => seconds,
        trials => format!("{seconds}, median of {trials}"),
    }
}

/// Returns the reasons for and against trusting the answers.
fn trust(seen: &WorkdirContents) -> Vec<String> {
    let report = &seen.report;
    let mut reasons = Vec::new();
    for (name, result) in results(report).into_iter().take(ALGORITHMS) {
        let validation = match &result["validated"] {
            Value::Bool(true) => "checked by another method within the job",
            Value::Bool(false) => "not checked within the job (validate = false)",
            _ => "exact; gpugraph verify recomputes it by another method",
        };
        reasons.push(match result["trials"].as_array().map_or(0, Vec::len) {
            0 | 1 => format!("{name}: {validation}"),
            trials => format!("{name}: {validation}; {trials} trials found the same"),
        });
    }
    for Unfinished { name, total, done, .. } in &seen.unfinished {
        let total = group(&total.to_string());
        reasons.push(match done {
            Some(done) => format!("{name} is not done: {} of {total} units are done", group(&done.to_string())),
            None => format!("{name} is not done ({total} units in all)"),
        });
    }
    let resumed = |how: &str| format!("Resumed {how}; stored files are checked before they are used again");
    reasons.extend(match number(&report["resumes"]) {
        Some(1.0) => Some(resumed("once")),
        Some(resumes) if resumes > 0.0 => Some(resumed(&format!("{resumes} times"))),
        Some(_) if seen.state == RunState::Finished => Some("Done in one run".to_owned()),
        _ => None,
    });
    reasons.push(match seen.warnings.len() {
        0 => "No warnings in the log".to_owned(),
        1 => "1 warning or error in the log".to_owned(),
        warnings => format!("{warnings} warnings and errors in the log"),
    });
    reasons.extend(seen.warnings.iter().rev().take(3).rev().cloned());
    if let Some(checksum) = report["input"]["checksum"].as_str() {
        reasons.push(format!("Checksum of the input: {}", clip_to(checksum, 64)));
    }
    match seen.faults.len() {
        0 => reasons.push("All files that the report is made from exist and are whole".to_owned()),
        faults => reasons.push(format!("{faults} files are missing or damaged, see above")),
    }
    reasons.push(format!("To check results by another method: gpugraph verify {}", seen.workdir.display()));
    reasons
}
