//! Formats as a user meets them: graphs with known counts, bad files, chunk borders, threads, damage.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gpugraph::error::{Error, Result};
use gpugraph::formats::{Edges, Format, Input, Scan, Unwatched, Visitor, Watch};

/// Keeps what it gets.
#[derive(Default)]
struct Gather {
    edges: Vec<[u64; 2]>,
    wide: bool,
}

impl Visitor for Gather {
    fn visit(&mut self, edges: Edges<'_>) -> Result<()> {
        match edges {
            Edges::Narrow(pairs) => self.edges.extend(pairs.iter().map(|p| p.map(u64::from))),
            Edges::Wide(pairs) => {
                self.wide = true;
                self.edges.extend_from_slice(pairs);
            }
        }
        Ok(())
    }
}

/// All edges, sorted.
fn read(input: &Input, threads: usize) -> Result<(Vec<[u64; 2]>, Scan)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather::default()).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.edges).collect();
    edges.sort_unstable();
    assert_eq!(scan.edges, edges.len() as u64);
    Ok((edges, scan))
}

fn open(path: &Path) -> Input {
    Input::open(&[path.to_owned()], None).unwrap()
}

fn edges(path: &Path) -> Vec<[u64; 2]> {
    read(&open(path), 2).unwrap().0
}

fn simple(edges: &[[u64; 2]]) -> Vec<[u64; 2]> {
    let mut set: Vec<_> = edges.iter().filter(|[u, v]| u != v).map(|[u, v]| [*u.min(v), *u.max(v)]).collect();
    set.sort_unstable();
    set.dedup();
    set
}

fn error(path: &Path, format: Option<Format>) -> Error {
    match Input::open(&[path.to_owned()], format).and_then(|input| read(&input, 2)) {
        Ok((edges, _)) => panic!("{} was read: {} edges", path.display(), edges.len()),
        Err(error) => error,
    }
}

/// The graphs with known answers, where this machine has them.
fn shared() -> Option<PathBuf> {
    let folder = std::env::var_os("GPUGRAPH_DATA").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"));
    if folder.join("MANIFEST.tsv").is_file() {
        return Some(folder);
    }
    println!("SKIPPED: no shared data at {}", folder.display());
    None
}

fn own(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

#[test]
fn manifest() {
    let Some(folder) = shared() else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut seen = 0;
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |n: usize| fields[n].parse::<usize>().unwrap();
        let all = edges(&folder.join(fields[0]));
        let nodes = all.iter().flatten().collect::<HashSet<_>>().len();
        let loops = all.iter().filter(|[u, v]| u == v).count();
        let found = [all.len(), loops, nodes, simple(&all).len()];
        assert_eq!(found, [number(2), number(3), number(4), number(5)], "{}", fields[0]);
        seen += 1;
    }
    assert!(seen > 20);
}
