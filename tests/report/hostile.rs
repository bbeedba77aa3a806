//! Names that want to be markup, are very long, or break lines are shown as text and do nothing.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::support::Place;
use crate::valid::check;

const NAMES: [&str; 6] = [
    "<script>document.title='taken'</script>",
    "\"><img src=x onerror=\"document.title='taken'\">",
    "'</title></style></svg><svg onload=\"document.title='taken'\">",
    "a\nb\r\nc\u{0}\u{1b}[31m\u{202e}",
    "]]>--><!--<base href=//example.com>",
    "&lt;b&gt; &amp;amp; {{7*7}} ${7*7}",
];

/// Puts `name` in the place of every text of a report, and in front of every key.
fn infect(value: &mut Value, name: &str) {
    match value {
        Value::String(text) => *text = format!("{text}{name}"),
        Value::Array(list) => list.iter_mut().for_each(|one| infect(one, name)),
        Value::Object(fields) => {
            for (key, mut value) in std::mem::take(fields) {
                infect(&mut value, name);
                // Both as they are, for what is looked for by its name, and as no one expects them.
                if key.len() < 30 && !["stages", "results", "sources", "levels"].contains(&key.as_str()) {
                    fields.insert(format!("{key}{name}"), value.clone());
                }
                fields.insert(key, value);
            }
        }
        _ => {}
    }
}

#[test]
fn names_are_text_whatever_they_hold() {
    let place = Place::new();
    place.job("kronecker = { scale = 7 }", "[run]\ndevice = 'cpu'\n[triangle]\n[bfs]\nroots = 2\n");
    place.report(&[]);
    let work = place.workdir();
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(work.join(name)).expect("there")).expect("JSON")
    };
    let (report, metrics) = (read("report.json"), read("metrics.json"));
    let long = "<b>".repeat(10 << 18);
    let mut browser = Browser::start();
    for name in NAMES.into_iter().chain([long.as_str()]) {
        let (mut report, mut metrics) = (report.clone(), metrics.clone());
        // Ten megabytes once, not at every place.
        match name.len() > 1000 {
            true => (report["job"], report["input"]["path"]) = (json!(name), json!(name)),
            false => infect(&mut report, name),
        }
        let run = &mut metrics["runs"][0];
        (run["host"], run["ended"], run["stages"][0]["name"]) = (json!(name), json!(name), json!(name));
        std::fs::write(work.join("report.json"), report.to_string()).expect("written");
        std::fs::write(work.join("metrics.json"), metrics.to_string()).expect("written");
        std::fs::write(work.join("run.log"), format!("2026-11-20T12:00:00Z  WARN {name}\n")).expect("written");
        place.gpugraph(&["report", "work"]).expect(0);
        let html = std::fs::read_to_string(work.join("report.html")).expect("a report");
        check(&html);
        assert!(html.len() < 1 << 20, "{} bytes", html.len());
        if let Some(browser) = &mut browser {
            let opened = browser.open(&work.join("report.html"));
            assert_eq!((&opened.said, &opened.requests), (&Vec::new(), &Vec::new()));
            assert!(!browser.value("document.title").as_str().expect("a title").eq("taken"));
            assert_eq!(browser.value("document.querySelectorAll('script, img, base, b').length"), json!(0));
        }
        place.gpugraph(&["report", "work", "--csv"]).expect(0);
        place.gpugraph(&["report", "work", "work", "-o", "both.html"]).expect(0);
        check(&std::fs::read_to_string(place.path("both.html")).expect("written"));
    }
}
