//! Answers made another way: from sets of neighbours, by what the documentation says of each column.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::random_edges;

/// A graph as its edges say.
#[derive(Clone)]
pub struct Graph {
    /// Loops and repeats included.
    pub edges: Vec<[u64; 2]>,
    /// The id of each row of results.
    pub rows: Vec<u64>,
    /// True if results come in the order of `out/ids.npy`.
    pub sparse: bool,
    neighbours: BTreeMap<u64, BTreeSet<u64>>,
}

/// What one task must leave: fields of its results, and files below `out`.
pub struct Answer {
    /// The table.
    pub table: String,
    /// Fields of the results that are known.
    pub found: Value,
    /// By name without an ending: the type as numpy has it, and the bytes of the array.
    pub columns: BTreeMap<String, (&'static str, Vec<u8>)>,
}

impl Graph {
    /// A multigraph with hubs, loops, repeats and a vertex that has a loop alone; its ids are multiples of `step`.
    pub fn new(vertices: u64, edges: usize, step: u64) -> Graph {
        let mut edges = random_edges(vertices, edges, 7);
        edges.push([vertices + 3; 2]);
        edges.iter_mut().for_each(|pair| *pair = pair.map(|id| id * step));
        let mut neighbours: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        for &[u, v] in &edges {
            for (u, v) in [(u, v), (v, u)] {
                neighbours.entry(u).or_default().extend(Some(v).filter(|&v| v != u));
            }
        }
        let sparse = step > 1;
        let last = neighbours.keys().copied().max().unwrap_or(0);
        let rows = if sparse { neighbours.keys().copied().collect() } else { (0..=last).collect() };
        Graph { edges, rows, sparse, neighbours }
    }

    /// Two ids: one with edges, one with a loop alone.
    fn sources(&self) -> [u64; 2] {
        [self.rows[5], self.rows[self.rows.len() - 1]]
    }

    fn of(&self, id: u64) -> impl Iterator<Item = u64> {
        self.neighbours.get(&id).into_iter().flatten().copied()
    }

    fn degree(&self, id: u64) -> u64 {
        self.of(id).count() as u64
    }

    fn edges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.neighbours.iter().flat_map(|(&u, all)| all.range(u..).map(move |&v| (u, v)))
    }

    /// A column of every row, where a vertex without an edge has `isolated`.
    fn column<const N: usize>(&self, isolated: [u8; N], of: impl Fn(u64) -> [u8; N]) -> Vec<u8> {
        self.rows.iter().flat_map(|&id| if self.degree(id) == 0 { isolated } else { of(id) }).collect()
    }

    /// What every algorithm of the registry answers, each with and without its columns.
    pub fn answers(&self) -> Vec<Answer> {
        let mut ids = BTreeMap::new();
        if self.sparse {
            ids.insert("ids".into(), ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()));
        }
        [
            self.triangle(),
            self.sums(""),
            self.sums("upper = true\n"),
            self.sums_by_direction(""),
            self.sums_by_direction("upper = true\n"),
            self.searches(false),
            self.searches(true),
        ]
        .into_iter()
        .flat_map(|([plain, columns], found, files)| {
            let files = files.into_iter().map(|(name, descr, bytes)| (name, (descr, bytes)));
            [
                Answer { table: plain, found: found.clone(), columns: BTreeMap::new() },
                Answer { table: columns, found, columns: files.chain(ids.clone()).collect() },
            ]
        })
        .collect()
    }

    fn triangle(&self) -> Known {
        let mut corners: BTreeMap<u64, u64> = BTreeMap::new();
        for (u, v) in self.edges() {
            for w in self.neighbours[&u].intersection(&self.neighbours[&v]).filter(|&&w| w > v) {
                [u, v, *w].into_iter().for_each(|x| *corners.entry(x).or_default() += 1);
            }
        }
        let triangles = corners.values().sum::<u64>() / 3;
        let wedges: u64 = self.rows.iter().map(|&id| self.degree(id) * self.degree(id).saturating_sub(1) / 2).sum();
        let of = |id: u64| corners.get(&id).copied().unwrap_or(0);
        let clustering = |id: u64| match self.degree(id) as f64 {
            d if d < 2.0 => 0.0,
            d => 2.0 * of(id) as f64 / (d * (d - 1.0)),
        };
        let tables = ["[triangle]\n".into(), "[triangle]\nper_vertex = true\n".into()];
        let files = vec![
            ("triangles".into(), "<u8", self.column([0; 8], |id| of(id).to_le_bytes())),
            ("clustering".into(), "<f8", self.column([0; 8], |id| clustering(id).to_le_bytes())),
        ];
        (tables, json!({ "triangles": triangles, "wedges": wedges }), files)
    }

    /// The sums of a graph that keeps direction.
    fn sums_by_direction(&self, half: &str) -> Known {
        let mut rows: [BTreeMap<u64, BTreeSet<u64>>; 2] = Default::default();
        for &[u, v] in self.edges.iter().filter(|[u, v]| u != v) {
            rows[0].entry(u).or_default().insert(v);
            rows[1].entry(v).or_default().insert(u);
        }
        let [out, into] = rows;
        let degree = |rows: &BTreeMap<u64, BTreeSet<u64>>, id: u64| rows.get(&id).map_or(0, |row| row.len() as u64);
        let sum = |rows: &BTreeMap<u64, BTreeSet<u64>>, others: &BTreeMap<u64, BTreeSet<u64>>, id: u64| {
            rows.get(&id).into_iter().flatten().map(|&v| degree(others, v)).sum::<u64>()
        };
        let total: u64 = out.keys().map(|&u| degree(&out, u) * sum(&out, &into, u)).sum();
        let files = vec![
            ("out_u64".into(), "<u8", self.column([0; 8], |id| sum(&out, &into, id).to_le_bytes())),
            ("in_u64".into(), "<u8", self.column([0; 8], |id| sum(&into, &out, id).to_le_bytes())),
        ];
        let table = format!("[sums]\ndirection = true\n{half}");
        ([table.clone(), format!("{table}columns = true\n")], json!({ "total": total }), files)
    }

    /// By the rows of the lower half, or as `half` says by those of the upper.
    fn sums(&self, half: &str) -> Known {
        let total: u64 = self.edges().map(|(u, v)| self.degree(u) * self.degree(v)).sum();
        let sum = |id: u64| self.of(id).map(|v| self.degree(v)).sum::<u64>();
        let d = |id: u64| self.degree(id);
        let mut files = vec![
            ("degree_u32".into(), "<u4", self.column([0; 4], |id| (d(id) as u32).to_le_bytes())),
            ("degree_i32".into(), "<i4", self.column((-1i32).to_le_bytes(), |id| (d(id) as i32).to_le_bytes())),
            ("sum_u64".into(), "<u8", self.column([0; 8], |id| sum(id).to_le_bytes())),
            ("sum_i64".into(), "<i8", self.column((-1i64).to_le_bytes(), |id| (sum(id) as i64).to_le_bytes())),
            (
                "mean_f32".into(),
                "<f4",
                self.column(f32::INFINITY.to_le_bytes(), |id| (sum(id) as f32 / d(id) as f32).to_le_bytes()),
            ),
            ("mean_f64".into(), "<f8", self.column([0; 8], |id| (sum(id) as f64 / d(id) as f64).to_le_bytes())),
        ];
        let sources = self.sources();
        for source in sources {
            let next = |id: u64| i32::from(self.of(source).any(|v| v == id)).to_le_bytes();
            files.push((format!("sums/{source}/next"), "<i4", self.column((-1i32).to_le_bytes(), next)));
        }
        let tables = [format!("[sums]\n{half}"), format!("[sums]\n{half}columns = true\nsources = {sources:?}\n")];
        (tables, json!({ "total": total }), files)
    }
}

/// Tables without and with columns, fields of results, columns.
pub type Known = ([String; 2], Value, Vec<(String, &'static str, Vec<u8>)>);
