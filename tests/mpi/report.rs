//! The report of a job of two ranks shows how busy each was, in a browser.

#[path = "../report/browser.rs"]
mod browser;

use browser::Browser;
use serde_json::json;

use crate::Ranks;

#[test]
fn a_report_shows_both_ranks() {
    let (Some(job), Some(mut browser)) = (Ranks::new(), Browser::start()) else { return };
    job.place.job("kronecker = { scale = 12, edge_factor = 16, seed = 1 }", "[limits]\nthreads = 1\n");
    let report = job.report(2, &[]);
    let page = browser.open(&job.place.workdir().join("report.html"));
    assert_eq!((&page.said, &page.requests), (&Vec::new(), &Vec::new()));
    assert!(page.named("image").contains(&"Processor time of each rank"), "{:?}", page.named("image"));
    assert!(page.named("heading").contains(&"Ranks"), "{:?}", page.named("heading"));
    // A bar for each rank and stage that took any time; the numbers are those of report.json.
    let bars =
        browser.value("document.querySelectorAll('#ranks-0 svg[role=img] .bar').length").as_u64().expect("a number");
    let stages = report["stages"].as_array().expect("stages").iter();
    let cpu = stages.flat_map(|stage| stage["cpu_seconds"].as_array().expect("a number for each rank").iter());
    let busy = cpu.filter(|seconds| seconds.as_f64() > Some(0.0)).count() as u64;
    assert!(bars == busy && busy >= 4, "{bars} bars, {busy} of {report:#}");
    let rows = browser.value("[...document.querySelectorAll('#ranks-0 tbody th')].map(cell => cell.textContent)");
    assert_eq!(rows, json!(["rank 0", "rank 1"]));
}
