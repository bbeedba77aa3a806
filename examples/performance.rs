//! Draws the pictures of docs/performance.md from the figures that stand there: `cargo run --example performance -- docs/performance`.

use gpugraph::internals::chart::{Axis, Bars, Figure, Line, Marks, Style, Unit, draw};
use std::path::Path;

/// A picture with the name of its file.
pub struct Picture {
    /// Name of the file.
    pub file: &'static str,
    /// The picture.
    pub figure: Figure,
}

fn bars(title: &str, caption: &str, x: Axis, values: &[(&str, f64)]) -> Figure {
    let names = values.iter().map(|(name, _)| (*name).to_owned()).collect();
    let parts = vec![(x.label.clone(), values.iter().map(|(_, value)| *value).collect())];
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Figure { title, caption, x, y: Axis::linear("what", Unit::Text), marks: Marks::Bars(Bars { names, parts }) }
}

/// Returns all pictures.
pub fn pictures() -> Vec<Picture> {
    let seconds = || Axis::linear("time", Unit::Seconds);
    let speed = || Axis::linear("traversed edges a second", Unit::Teps);
    let times = [
        ("29, whole run", 8.2),
        ("published", 460.0),
        ("29, counting", 2.65),
        ("published", 179.0),
        ("28, whole run", 5.6),
        ("published", 274.0),
    ];
    let stages = [
        ("start, exit", 0.6),
        ("ingest", 1.4),
        ("relabel", 0.28),
        ("partition", 2.0),
        ("sort", 1.3),
        ("triangle", 2.64),
    ];
    let cpu = [("scale 20", 0.37), ("TriangleCounting", 2.2), ("scale 22", 3.3), ("TriangleCounting", 14.8)];
    let bfs = [
        ("22", 786e9),
        ("24", 1552e9),
        ("26", 1954e9),
        ("26 in 2 GiB", 1083e9),
        ("29 in 16 GiB", 329e9),
        ("30 in 16 GiB, packed", 551e9),
    ];
    let sssp = [("24, 1 to 255", 165e9), ("24, f32", 112e9), ("26, 1 to 255", 203e9), ("26 in 2 GiB", 7.0e9)];
    let line =
        |name: &str, values: [f64; 3]| Line::new(name, Style::Line, [1.0, 2.0, 4.0].into_iter().zip(values).collect());
    let scaling = Figure {
        title: "Scale 29 on several H200: speed-up".into(),
        caption: "How many times faster than with one GPU, by medians.".into(),
        x: Axis::linear("GPUs", Unit::Count),
        y: Axis::linear("speed-up", Unit::Number),
        marks: Marks::Lines(vec![
            line("counting", [1.0, 1.82, 3.68]),
            line("whole run", [1.0, 1.6, 2.04]),
            line("ideal", [1.0, 2.0, 4.0]),
        ]),
    };
    let runs = ["sort-unique, 1 GPU", "sort-unique, 2 GPUs", "atomic, 1 GPU", "atomic, 2 GPUs"];
    let step = |name: &str, values: [f64; 4]| (name.to_owned(), values.to_vec());
    let traverse = Figure {
        title: "Traversal on one and two H200 by step".into(),
        caption: "Means of 16 searches and of ranks; scale 21 with one GPU, 22 with two.".into(),
        x: seconds(),
        y: Axis::linear("what", Unit::Text),
        marks: Marks::Bars(Bars {
            names: runs.map(str::to_owned).to_vec(),
            parts: vec![
                step("prefix sum", [0.00015, 0.00016, 0.00015, 0.00016]),
                step("search", [0.00046, 0.00047, 0.00056, 0.0038]),
                step("sort", [0.0032, 0.0032, 0.0, 0.0]),
                step("unique", [0.00058, 0.00057, 0.0, 0.0]),
                step("exchange", [0.0, 0.00013, 0.0, 0.00085]),
                step("update", [0.00046, 0.0005, 0.00038, 0.00038]),
                step("waiting", [0.0, 0.0002, 0.0, 0.00009]),
            ],
        }),
    };
    let caption = "Medians; the published system had a V100 and 8 cores.";
    vec![
        Picture { file: "triangles-gpu.svg", figure: bars("Triangles on one H200", caption, seconds(), &times) },
        Picture {
            file: "stages-gpu.svg",
            figure: bars("Scale 29 on one H200 by stage", "Seconds of a run of 8.2 s.", seconds(), &stages),
        },
        Picture { file: "scaling-gpus.svg", figure: scaling },
        Picture {
            file: "triangles-cpu.svg",
            figure: bars("Triangles on two cores", "Counting alone, beside TriangleCounting.", seconds(), &cpu),
        },
        Picture {
            file: "bfs.svg",
            figure: bars("Breadth-first search on one H200, by scale", "Harmonic mean over roots.", speed(), &bfs),
        },
        Picture { file: "traverse.svg", figure: traverse },
        Picture {
            file: "sssp.svg",
            figure: bars(
                "Shortest paths on one H200, by scale and weights",
                "Harmonic mean over roots.",
                speed(),
                &sssp,
            ),
        },
    ]
}

#[allow(dead_code)] // tests/report has the pictures alone
fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs/performance".into());
    std::fs::create_dir_all(&folder)?;
    pictures()
        .iter()
        .try_for_each(|picture| std::fs::write(Path::new(&folder).join(picture.file), draw::file(&picture.figure)))
}
