//! Draws the pictures of docs/performance.md from benches/figures.tsv: `cargo run --example performance -- docs/performance`.

use gpugraph::internals::chart::{Axis, Bars, Figure, Line, Marks, Style, Unit, draw};
use std::collections::HashMap;
use std::path::Path;

/// A picture with the name of its file.
pub struct Picture {
    /// Name of the file.
    pub file: &'static str,
    /// The picture.
    pub figure: Figure,
}

/// The lines of benches/figures.tsv, by column.
struct Figures(Vec<HashMap<String, String>>);

impl Figures {
    fn read() -> Figures {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/figures.tsv");
        let text = std::fs::read_to_string(path).expect("benches/figures.tsv");
        let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned));
        let columns: Vec<String> = lines.next().expect("a heading").collect();
        Figures(lines.map(|line| columns.iter().cloned().zip(line).collect()).collect())
    }

    /// A column of a row on a machine as a number. Of a value that is not there, the smallest, as sentences of the page begin with it.
    fn number(&self, table: &str, row: &str, machine: &str, column: &str) -> f64 {
        let of = |line: &&HashMap<String, String>| {
            line["table"] == table && line["row"] == row && line["machine"] == machine
        };
        let line = self.0.iter().find(of).unwrap_or_else(|| panic!("{table}/{row} has no figure of {machine}"));
        let text = if column == "value" && line[column].is_empty() { &line["low"] } else { &line[column] };
        text.parse().unwrap_or_else(|_| panic!("{column} of {table}/{row} on {machine} is {text:?}"))
    }
}

fn bars(title: &str, caption: &str, x: Axis, values: Vec<(&str, f64)>) -> Figure {
    let names = values.iter().map(|(name, _)| (*name).to_owned()).collect();
    let parts = vec![(x.label.clone(), values.iter().map(|(_, value)| *value).collect())];
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Figure { title, caption, x, y: Axis::linear("what", Unit::Text), marks: Marks::Bars(Bars { names, parts }) }
}

fn lines(title: &str, caption: &str, y: Axis, lines: &[(&str, [f64; 3])]) -> Figure {
    let by_gpus = |values: &[f64; 3]| [1.0, 2.0, 4.0].into_iter().zip(*values).collect();
    let marks = Marks::Lines(lines.iter().map(|(name, y)| Line::new(name, Style::Line, by_gpus(y))).collect());
    let (title, caption) = (title.to_owned(), caption.to_owned());
    Figure { title, caption, x: Axis::linear("GPUs", Unit::Count), y, marks }
}

/// Returns all pictures.
pub fn pictures() -> Vec<Picture> {
    let figures = Figures::read();
    let seconds = || Axis::linear("time", Unit::Seconds);
    let speed = || Axis::linear("traversed edges a second", Unit::Teps);
    let ours = |table: &str, row: &str, machine: &str| figures.number(table, row, machine, "value");
    let teps = |table: &str, row: &str| figures.number(table, row, "H200", "gteps") * 1e9;
    // A row, and its peer below it.
    let pairs = |table: &str, machine: &str, peer: &'static str, rows: &[(&'static str, &str)]| -> Vec<_> {
        let both = |&(name, row): &(&'static str, &str)| {
            [(name, ours(table, row, machine)), (peer, figures.number(table, row, machine, "peer"))]
        };
        rows.iter().flat_map(both).collect()
    };
    let counts = [("29, whole run", "s29-run"), ("29, counting", "s29-count"), ("28, whole run", "s28-run")];
    let stages = [
        ("start, exit", "start"),
        ("ingest", "ingest"),
        ("relabel", "relabel"),
        ("partition", "partition"),
        ("sort", "sort"),
        ("triangle", "triangle"),
    ];
    let bfs = [
        ("22", "s22"),
        ("24", "s24"),
        ("26", "s26"),
        ("26 in 2 GiB", "s26-2gib"),
        ("29 in 16 GiB", "s29-16gib"),
        ("30 in 16 GiB, packed", "s30-16gib"),
    ];
    let sssp = [("24, 1 to 255", "s24"), ("24, f32", "s24-f32"), ("26, 1 to 255", "s26"), ("26 in 2 GiB", "s26-2gib")];
    let several = ["2 H200", "4 H200"];
    let speed_up = |what: &str| {
        let [two, four] = [2, 4].map(|gpus| format!("g{gpus}-{what}"));
        let of = |row: &str, machine| figures.number("triangles-gpus", row, machine, "ratio");
        [1.0, of(&two, several[0]), of(&four, several[1])]
    };
    let traversal = |strategy: &str| {
        let of = |gpus: u32, machine| ours("traverse", &format!("{strategy}{gpus}"), machine);
        [of(1, "H200"), of(2, several[0]), of(4, several[1])]
    };
    vec![
        Picture {
            file: "triangles-gpu.svg",
            figure: bars(
                "Triangles on one H200",
                "Medians; the published system had a V100 and 8 cores.",
                seconds(),
                pairs("triangles-gpu", "H200", "published", &counts),
            ),
        },
        Picture {
            file: "stages-gpu.svg",
            figure: bars(
                "Scale 29 on one H200 by stage",
                "Seconds of a whole run.",
                seconds(),
                stages.map(|(name, row)| (name, ours("triangles-stages", row, "H200"))).to_vec(),
            ),
        },
        Picture {
            file: "scaling-gpus.svg",
            figure: lines(
                "Scale 29 on several H200: speed-up",
                "How many times faster than with one GPU, by medians.",
                Axis::linear("speed-up", Unit::Number),
                &[("counting", speed_up("count")), ("whole run", speed_up("run")), ("ideal", [1.0, 2.0, 4.0])],
            ),
        },
        Picture {
            file: "triangles-cpu.svg",
            figure: bars(
                "Triangles on two cores",
                "Counting alone, next to TriangleCounting.",
                seconds(),
                pairs(
                    "triangles-cpu",
                    "2 cores, Zen 4",
                    "TriangleCounting",
                    &[("scale 20", "s20"), ("scale 22", "s22")],
                ),
            ),
        },
        Picture {
            file: "bfs.svg",
            figure: bars(
                "Breadth-first search on one H200, by scale",
                "Harmonic mean over roots.",
                speed(),
                bfs.map(|(name, row)| (name, teps("bfs", row))).to_vec(),
            ),
        },
        Picture {
            file: "traverse.svg",
            figure: lines(
                "Traversal on several H200",
                "Seconds of a search; scale 21 a GPU.",
                seconds(),
                &[("sort-unique", traversal("sort")), ("atomic", traversal("atomic"))],
            ),
        },
        Picture {
            file: "sssp.svg",
            figure: bars(
                "Shortest paths on one H200, by scale and weights",
                "Harmonic mean over roots.",
                speed(),
                sssp.map(|(name, row)| (name, teps("sssp", row))).to_vec(),
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
