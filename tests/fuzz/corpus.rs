//! Valid files of every format, small, to be mutated: made from random edges, and those under `tests/data`.

mod binary;

pub use binary::{array, numbers, zip};

use std::fmt::Write as _;
use std::path::Path;

use gpugraph::internals::formats::Format;

use crate::reader::Edge;
use crate::support::Dice;

/// A file: its ending says its format.
#[derive(Debug, Clone)]
pub struct File {
    /// Without a packing.
    pub name: String,
    pub bytes: Vec<u8>,
}

impl File {
    pub fn format(&self) -> Format {
        Format::by_ending(Path::new(&self.name)).expect("an ending that is known")
    }
}

/// The files that come with the project, and the small ones of the graphs with known answers where these are.
pub fn found() -> Vec<File> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut folders = vec![data];
    if let Some(shared) = crate::support::reference_graphs() {
        folders.extend(["bad", "odd_but_valid", "gapbs", "lagraph", "graph500"].map(|name| shared.join(name)));
    }
    let mut files = Vec::new();
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("a folder")) {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let plain = !["gz", "zst", "bz2", "xz"].iter().any(|ending| name.ends_with(ending));
        if plain && Format::by_ending(&path).is_some() {
            let bytes = std::fs::read(&path).expect("a file");
            if bytes.len() <= 3000 {
                files.push(File { name, bytes });
            }
        }
    }
    // So that a case is the same on any machine that has these files.
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}

/// A valid file of a random graph in a format drawn.
pub fn made(dice: &mut Dice) -> File {
    const WRITERS: [fn(&mut Dice) -> File; 15] = [
        text,
        text,
        index,
        networkx,
        konect,
        table_of_r,
        csv,
        mtx,
        metis,
        gr,
        pairs,
        graph500,
        binary::npy,
        binary::npz,
        binary::gapbs,
    ];
    loop {
        let file = WRITERS[dice.below(WRITERS.len() as u64) as usize](dice);
        if Format::by_ending(Path::new(&file.name)).is_some() {
            return file;
        }
    }
}

/// Up to 40 random edges with ids from 0 to below `largest`, which is drawn, too.
fn edges(dice: &mut Dice, largest: &[u64]) -> Vec<Edge> {
    let ids = largest[dice.below(largest.len() as u64) as usize];
    let count = dice.below(41);
    (0..count).map(|_| [dice.below(ids), dice.below(ids)]).collect()
}

/// One of these.
pub fn one<T: Copy>(dice: &mut Dice, of: &[T]) -> T {
    of[dice.below(of.len() as u64) as usize]
}

const SMALL: [u64; 3] = [3, 12, 60];
const ANY: [u64; 6] = [3, 12, 60, 100_000, 1 << 33, u64::MAX];

fn text(dice: &mut Dice) -> File {
    let edges = edges(dice, &ANY);
    let gap = one(dice, &[" ", "\t", "  ", ","]);
    let end = one(dice, &["\n", "\n", "\r\n"]);
    let head =
        one(dice, &["", "", "# Nodes: 5 Edges: 7\n", "% sym unweighted\n", "# FromNodeId\tToNodeId\n", "from to\n"]);
    let weights = dice.below(4) == 0 && !head.starts_with('f');
    let mut text = head.to_owned();
    for [u, v] in edges {
        write!(text, "{u}{gap}{v}").expect("memory");
        if weights {
            write!(text, "{gap}{}", one(dice, &["1", "2.5", "-1", "1e-3"])).expect("memory");
        }
        text.push_str(end);
    }
    let name = one(dice, &["a.txt", "a.el", "a.tsv", "a.wel"]);
    File { name: name.to_owned(), bytes: text.into_bytes() }
}

fn networkx(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let behind = one(dice, &[" {}", " {'weight': 3}", " {'weight': 2.5, 'time': 7}"]);
    let text: String = edges.iter().map(|[u, v]| format!("{u} {v}{behind}\n")).collect();
    File { name: "a.txt".to_owned(), bytes: text.into_bytes() }
}

fn konect(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let kind = one(dice, &["sym", "asym"]);
    let mut text = format!("% {kind} positive\n% {} 60 60\n", edges.len());
    for [u, v] in edges {
        text += &format!("{} {}\t1\t{}\n", u + 1, v + 1, 1_082_040_961 + dice.below(1000));
    }
    File { name: one(dice, &["a.txt", "out.fuzz"]).to_owned(), bytes: text.into_bytes() }
}

/// As R's `write.table` writes it: rows have a name before their columns, the heading has not.
fn table_of_r(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let (mut text, quote) = ("\"from\" \"to\"\n".to_owned(), one(dice, &["\"", ""]));
    for (row, [u, v]) in edges.iter().enumerate() {
        text += &format!("{quote}{}{quote} {u} {v}\n", row + 1);
    }
    File { name: "a.txt".to_owned(), bytes: text.replace('"', quote).into_bytes() }
}

/// As pandas writes a table without a heading: each row begins with its number.
fn index(dice: &mut Dice) -> File {
    let (edges, gap) = (edges(dice, &SMALL), one(dice, &[",", "\t", " "]));
    let base = dice.below(2);
    let text: String = (base..).zip(&edges).map(|(row, [u, v])| format!("{row}{gap}{u}{gap}{v}\n")).collect();
    File { name: one(dice, &["a.csv", "a.txt", "a.wel"]).to_owned(), bytes: text.into_bytes() }
}

/// A table with a heading, whose ids stand in any two columns.
fn csv(dice: &mut Dice) -> File {
    let edges = edges(dice, &ANY);
    let [source, target] =
        one(dice, &[["source", "target"], ["src", "dst"], ["from", "to"], ["u", "v"], ["Source", "Target"]]);
    let columns = one(dice, &[&["s", "t"][..], &["s", "t", "w"], &["w", "s", "t"], &["", "s", "t"], &["t", "w", "s"]]);
    let quoted = dice.below(4) == 0;
    let line = |cell: &dyn Fn(&str) -> String| {
        let cells = columns.iter().map(|name| if quoted { format!("\"{}\"", cell(name)) } else { cell(name) });
        cells.collect::<Vec<_>>().join(",") + "\n"
    };
    let mut text = line(&|name| match name {
        "s" => source.to_owned(),
        "t" => target.to_owned(),
        "w" => "weight".to_owned(),
        other => other.to_owned(),
    });
    for (number, [u, v]) in edges.iter().enumerate() {
        text += &line(&|name| match name {
            "s" => u.to_string(),
            "t" => v.to_string(),
            "w" => format!("{}.5", number % 7),
            _ => number.to_string(),
        });
    }
    File { name: "a.csv".to_owned(), bytes: text.into_bytes() }
}

fn mtx(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let (field, value) = one(dice, &[("pattern", ""), ("integer", " 7"), ("real", " -1.5e3")]);
    let symmetric = dice.below(2) == 0;
    let shape = if symmetric { "symmetric" } else { "general" };
    let ids = edges.iter().flatten().max().map_or(0, |id| id + 1) + dice.below(3);
    let comment = one(dice, &["", "% made for a test\n"]);
    let mut text = format!("%%MatrixMarket matrix coordinate {field} {shape}\n{comment}{ids} {ids} {}\n", edges.len());
    for [u, v] in edges {
        let [u, v] = if symmetric { [u.max(v), u.min(v)] } else { [u, v] };
        text += &format!("{} {}{value}\n", u + 1, v + 1);
    }
    File { name: "a.mtx".to_owned(), bytes: text.into_bytes() }
}

fn gr(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let ids = edges.iter().flatten().max().map_or(0, |id| id + 1) + dice.below(3);
    let mut text = format!("c made for a test\np sp {ids} {}\n", edges.len());
    for [u, v] in edges {
        text += &format!("a {} {} {}\n", u + 1, v + 1, dice.below(9));
    }
    File { name: "a.gr".to_owned(), bytes: text.into_bytes() }
}

fn metis(dice: &mut Dice) -> File {
    let mut links: Vec<Edge> =
        edges(dice, &SMALL).iter().filter(|[u, v]| u != v).map(|[u, v]| [*u.min(v), *u.max(v)]).collect();
    links.sort_unstable();
    links.dedup();
    let ids = links.iter().flatten().max().map_or(0, |id| id + 1) + dice.below(2);
    let flags = one(dice, &["", " 0", " 1", " 10", " 11 2", " 100", " 111 3"]);
    let digits: Vec<char> = flags.split(' ').nth(1).unwrap_or("0").chars().rev().collect();
    let has = |place: usize| digits.get(place) == Some(&'1');
    let constraints = flags.split(' ').nth(2).map_or(1, |count| count.parse().expect("a count"));
    let before = usize::from(has(2)) + if has(1) { constraints } else { 0 };
    let mut text = format!("{ids} {}{flags}\n", links.len());
    for vertex in 0..ids {
        if dice.below(9) == 0 {
            text += "% between\n";
        }
        let mut words = vec!["1".to_owned(); before];
        for [u, v] in links.iter().filter(|link| link.contains(&vertex)) {
            words.push((u + v - vertex + 1).to_string());
            if has(0) {
                words.push((u + v + 1).to_string());
            }
        }
        text += &(words.join(" ") + "\n");
    }
    File { name: "a.graph".to_owned(), bytes: text.into_bytes() }
}

fn pairs(dice: &mut Dice) -> File {
    let edges = edges(dice, &ANY);
    let wide = edges.iter().flatten().any(|id| u32::try_from(*id).is_err()) || dice.below(2) == 0;
    let bytes = edges.iter().flatten().flat_map(|id| id.to_le_bytes()[..if wide { 8 } else { 4 }].to_vec()).collect();
    let name = if wide { "a.u64" } else { one(dice, &["a.u32", "a.bin", "a.edgelist"]) };
    File { name: name.to_owned(), bytes }
}

fn graph500(dice: &mut Dice) -> File {
    let mut bytes = Vec::new();
    for [u, v] in edges(dice, &[3, 60, 1 << 33, 1 << 47]) {
        bytes.extend((u as u32).to_le_bytes());
        bytes.extend((v as u32).to_le_bytes());
        bytes.extend(((u >> 32) as u16).to_le_bytes());
        bytes.extend(((v >> 32) as u16).to_le_bytes());
    }
    File { name: "a.graph500".to_owned(), bytes }
}
