//! Reports as people see and hear them: of each algorithm, of a job that failed, and of one that was resumed.

use std::path::Path;

use serde_json::{Value, json};

use crate::browser::{Browser, Opened};
use crate::support::Place;

/// Opens a report and checks what holds for all: nothing is said or fetched, each picture has a name and marks that differ from the page,
/// all tables are there, and text can be told from its ground.
fn opened(browser: &mut Browser, file: &Path) -> Opened {
    let bytes = std::fs::metadata(file).expect("a report").len();
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let opened = browser.open(file);
    assert_eq!((&opened.said, &opened.requests), (&Vec::new(), &Vec::new()), "{}", file.display());
    let pictures =
        browser.value("document.querySelectorAll('figure svg[role=img]').length").as_u64().expect("a number");
    let images = opened.named("image");
    assert_eq!(images.len() as u64, pictures, "{images:?}");
    assert!(images.iter().all(|name| !name.is_empty()), "{images:?}");
    // Each figure has marks of some size within its picture, and the table of its numbers.
    let blank = browser.value(
        "[...document.querySelectorAll('figure')].filter(f => {
            const view = f.querySelector('svg[role=img]').getBoundingClientRect();
            const marks = [...f.querySelectorAll('.line,.area,.dot,.bar,.span,.box,.cell')].filter(m => !m.closest('.key'));
            const seen = marks.filter(m => { const r = m.getBoundingClientRect(); return (r.width > 0 || r.height > 0)
                && r.left >= view.left - 1 && r.right <= view.right + 1 && r.top >= view.top - 1 && r.bottom <= view.bottom + 1
                && getComputedStyle(m)[m.matches('.line') ? 'stroke' : 'fill'] !== 'none'; });
            return seen.length === 0 || seen.length !== marks.filter(m => !m.matches('.line[d=\"\"],.area[d=\"\"]')).length
                || f.querySelectorAll('table tbody tr').length === 0;
        }).map(f => f.id)",
    );
    assert_eq!(blank, json!([]), "{}", file.display());
    assert_eq!(browser.value(CONTRAST), json!([]), "{}", file.display());
    let wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
    assert_eq!(wide, json!(0), "{}: it is wider than its window", file.display());
    opened
}

/// Elements whose text has less than 4.5 times the luminance of what is behind it, or the other way round.
const CONTRAST: &str = "(() => {
    const parts = c => c.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = e => { for (; e; e = e.parentElement) { const p = parts(getComputedStyle(e).backgroundColor); if (p.length < 4 || p[3] > 0) return p; } return [255, 255, 255]; };
    const poor = [];
    for (const e of document.querySelectorAll('body *')) {
        if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || ['TITLE', 'title', 'desc'].includes(e.tagName)) continue;
        const style = getComputedStyle(e), ink = parts(e.closest('svg') ? style.fill : style.color);
        const [a, b] = [light(ink), light(ground(e))].sort((x, y) => y - x);
        if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${e.tagName} ${e.textContent.slice(0, 40)} ${ink} on ${ground(e)}`);
    }
    return poor;
})()";

/// Fails unless what is shown as an image is not of one colour: its picture as the browser paints it.
fn is_painted(browser: &mut Browser, selector: &str) {
    let place = browser.value(&format!(
        "(() => {{ const r = document.querySelector('{selector}').getBoundingClientRect(); return {{ x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height }}; }})()"
    ));
    let clip =
        json!({ "x": place["x"], "y": place["y"], "width": place["width"], "height": place["height"], "scale": 1 });
    let shot =
        browser.call("Page.captureScreenshot", json!({ "format": "png", "clip": clip, "captureBeyondViewport": true }));
    let data = shot["data"].as_str().expect("a picture").to_owned();
    // The browser reads its own picture, as this has no reader of PNG.
    let colours = browser.call(
        "Runtime.evaluate",
        json!({ "awaitPromise": true, "returnByValue": true, "expression": format!(
            "(async () => {{ const bytes = Uint8Array.from(atob('{data}'), c => c.charCodeAt(0));
                const image = await createImageBitmap(new Blob([bytes], {{ type: 'image/png' }}));
                const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
                context.drawImage(image, 0, 0);
                const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
                const counts = new Map(); for (const p of pixels) counts.set(p, (counts.get(p) ?? 0) + 1);
                const most = Math.max(...counts.values());
                return [counts.size, 1 - most / pixels.length]; }})()"
        ) }),
    );
    let found = &colours["result"]["value"];
    let (kinds, other) = (found[0].as_u64().expect("a number"), found[1].as_f64().expect("a number"));
    assert!(kinds > 8 && other > 0.01, "{selector}: {kinds} colours, {other} of it other than its ground");
}

fn dark(browser: &mut Browser, is_dark: bool) {
    let value = if is_dark { "dark" } else { "light" };
    let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
    browser.call("Emulation.setEmulatedMedia", json!({ "features": features }));
}

const JOB: &str = "[run]\ndevice = 'cpu'\ntrials = 2\n[triangle]\nper_vertex = false\n[bfs]\nroots = 4\n[traverse]\nsources = [1]\n[dfs]\nforest = true\n[components]\n[cdlp]\n[cores]\n[pagerank]\n[betweenness]\n[distances]\n\
    [sssp]\nroots = 4\nweights = { uniform = [1, 255], seed = 1 }\n";

#[test]
fn reports_are_seen_and_heard_by_everybody() {
    let Some(mut browser) = Browser::start() else { return };
    let place = Place::new();

    // All algorithms on graphs, with blocks enough for a map of pairs.
    place.job("kronecker = { scale = 13, edge_factor = 16, seed = 1 }", JOB);
    let report = place.report(&[]);
    let page = opened(&mut browser, &place.workdir().join("report.html"));
    let headings = page.named("heading");
    for heading in [
        "kronecker-13-16-1",
        "Answer",
        "What it took",
        "Can it be trusted?",
        "Where the time went",
        "Degrees",
        "triangle",
        "bfs",
        "traverse",
        "dfs",
        "components",
        "cdlp",
        "cores",
        "pagerank",
        "betweenness",
        "distances",
        "sssp",
        "Log",
    ] {
        assert!(headings.contains(&heading), "{heading} is not among {headings:?}");
    }
    let images = page.named("image");
    for image in [
        "Stages over all runs",
        "Host memory",
        "Processors",
        "Degrees",
        "Time of pairs of blocks",
        "Speed over all sources",
        "Depth",
        "Phases",
        "Rounds",
        "Trials of triangle",
    ] {
        assert!(images.contains(&image), "{image} is not among {images:?}");
    }
    assert!(images.iter().any(|name| name.starts_with("Levels of source ")), "{images:?}");
    let triangles = report["results"]["triangle"]["triangles"].as_u64().expect("a number");
    let text = browser.value("document.querySelector('#answers').parentElement.textContent");
    let said = text.as_str().expect("text").replace(',', "");
    assert!(said.contains(&format!("has {triangles} triangles")), "{text}");
    let source = &report["results"]["sssp"]["sources"][0];
    let distances = source["distances"].as_array().expect("distances of the first source").iter();
    let reached: u64 = distances.map(|bin| bin["vertices"].as_u64().expect("a number")).sum();
    assert!(
        source["reached"] == reached && images.iter().any(|name| name.starts_with("Distances from source ")),
        "{source}"
    );
    // The numbers of a picture are those of report.json.
    let counted = browser.value("[...document.querySelectorAll('#graph-0 tbody tr td:last-child')].map(c => Number(c.textContent.replace(/,/g, '')) || 0).reduce((a, b) => a + b, 0)");
    let graph = &report["graph"];
    assert!(graph["isolated"].as_u64() > Some(0), "{graph}");
    assert_eq!(counted.as_u64(), graph["vertices"].as_u64(), "those of degree 0 too");
    let edges = browser
        .value("[...document.querySelectorAll('#graph-1 tbody td')].map(c => Number(c.textContent.replace(/,/g, '')))");
    let input = &report["input"];
    assert_eq!(edges, json!([graph["edges"], input["duplicates"], input["self_loops"]]));
    // Everything that scrolls or folds is reached by the keyboard.
    let unreached = browser.value("[...document.querySelectorAll('.scroll, pre')].filter(e => e.tabIndex < 0 || !e.closest('[aria-label]') && e.tagName !== 'PRE').length");
    assert_eq!(unreached, json!(0));
    for figure in ["#time-0 svg[role=img]", "#usage-1 svg[role=img]", "#graph-0 svg[role=img]"] {
        is_painted(&mut browser, figure);
    }
    // In the dark, in a narrow window, and without scripts.
    dark(&mut browser, true);
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": false }),
    );
    opened(&mut browser, &place.workdir().join("report.html"));
    is_painted(&mut browser, "#time-0 svg[role=img]");
    dark(&mut browser, false);
    browser.call("Emulation.clearDeviceMetricsOverride", json!({}));
    assert_eq!(browser.value("document.scripts.length"), json!(0));

    // A list, and clustering by degree.
    std::fs::remove_dir_all(place.workdir()).expect("removed");
    place.write("job.toml", "[job]\nworkdir = 'work'\n[input]\nlist = { length = 10_000, kind = 'swapped' }\n[listrank]\n[run]\ndevice = 'cpu'\n");
    place.report(&[]);
    let page = opened(&mut browser, &place.workdir().join("report.html"));
    let drawn = page.named("image");
    assert!(["Phases", "Rounds", "Time of rounds"].iter().all(|name| drawn.contains(name)), "{drawn:?}");
    std::fs::remove_dir_all(place.workdir()).expect("removed");
    place.job(
        "kronecker = { scale = 10, edge_factor = 16, seed = 1 }",
        "[run]\ndevice = 'cpu'\n[triangle]\nper_vertex = true\n",
    );

    // Broken off, which is seen, and carried on.
    place.run_failing("unit.done=1:kill", &[]).expect(137);
    let page = place.gpugraph(&["report", "work"]).expect(0);
    assert_eq!(page.out.trim(), "work/report.html");
    let page = opened(&mut browser, &place.workdir().join("report.html"));
    let text = browser.value("document.querySelector('header').textContent");
    assert!(
        text.as_str().is_some_and(|text| text.contains("Killed or lost") && text.contains("same command")),
        "{text}"
    );
    assert!(page.named("image").contains(&"Degrees"), "{:?}", page.named("image"));
    place.report(&[]);
    let page = opened(&mut browser, &place.workdir().join("report.html"));
    let images = page.named("image");
    assert!(
        images.contains(&"Clustering by degree") && page.named("heading").contains(&"Where the time went"),
        "{images:?}"
    );
    let runs = browser.value(
        "[...document.querySelectorAll('#time ~ * table, #time ~ details table')].map(t => t.caption.textContent)",
    );
    assert!(runs.to_string().contains("Runs of this job"), "{runs}");
    let broken = browser
        .value("[document.querySelectorAll('.span.broken').length, document.querySelectorAll('.gap').length > 0]");
    assert_eq!(broken, json!([1, true]));

    // A job that fails says why.
    std::fs::remove_dir_all(place.workdir()).expect("removed");
    let file = place.write("broken.txt", "1 2\n3 x\n");
    place.job_on(&file, "");
    place.run(&[]).expect(3);
    opened(&mut browser, &place.workdir().join("report.html"));
    let text = browser.value("document.querySelector('header').textContent");
    assert!(
        text.as_str().is_some_and(|text| text.contains("Failed, exit code 3") && text.contains("broken.txt")),
        "{text}"
    );
}

#[test]
fn a_comparison_shows_how_runs_scale() {
    let Some(mut browser) = Browser::start() else { return };
    let place = Place::new();
    for threads in ["1", "2"] {
        place.write("job.toml", format!("[job]\nworkdir = 'threads-{threads}'\n[input]\nkronecker = {{ scale = 12 }}\n[limits]\nthreads = {threads}\n[run]\ndevice = 'cpu'\n[triangle]\n"));
        place.run(&[]).expect(0);
    }
    place.gpugraph(&["report", "threads-1", "threads-2", "-o", "both.html"]).expect(0);
    let page = opened(&mut browser, &place.path("both.html"));
    assert_eq!(page.named("image"), ["Time of each stage", "Speed-up"]);
    let csv = place.gpugraph(&["report", "threads-1", "threads-2", "--csv"]).expect(0).out;
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column =
        |name: &str| rows[0].iter().position(|one| *one == name).unwrap_or_else(|| panic!("no {name} in {csv}"));
    let number = |row: usize, name: &str| rows[row][column(name)].parse::<f64>().expect("a number");
    assert_eq!((rows.len(), rows[1][0], rows[2][0]), (3, "threads-1", "threads-2"));
    // Held against the reports themselves.
    let report = |threads: &str| -> Value {
        serde_json::from_slice(&std::fs::read(place.path(format!("threads-{threads}/report.json"))).expect("a report"))
            .expect("JSON")
    };
    let seconds = |threads: &str| report(threads)["results"]["triangle"]["seconds"].as_f64().expect("a number");
    let up = seconds("1") / seconds("2");
    assert!(
        (number(2, "triangle speed-up") - up).abs() < 1e-9
            && (number(2, "triangle efficiency (share)") - up / 2.0).abs() < 1e-9,
        "{csv}"
    );
    assert_eq!((number(1, "triangle speed-up"), number(1, "threads"), number(2, "threads")), (1.0, 1.0, 2.0));
}
