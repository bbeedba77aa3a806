//! Random graphs of every shape, and the files that hold them, each written here by what its format says.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::corpus::{array, numbers, one, zip};
use crate::reader::Edge;
use crate::support::Dice;

/// A kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Csv,
    U32,
    U64,
    Npy,
    Npz,
    Mtx,
    /// One half of a symmetric matrix.
    Half,
    Metis,
    Gr,
    Graph500,
    /// A graph of GAP's, with weights or without.
    Gap,
}

const KINDS: [Kind; 12] = [
    Kind::Text,
    Kind::Csv,
    Kind::U32,
    Kind::U64,
    Kind::Npy,
    Kind::Npz,
    Kind::Mtx,
    Kind::Half,
    Kind::Metis,
    Kind::Gr,
    Kind::Graph500,
    Kind::Gap,
];

/// The type of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weights {
    None,
    Whole,
    Decimal,
}

/// A graph, as a file has it.
#[derive(Debug, Clone)]
pub struct Graph {
    pub kind: Kind,
    /// As they are in the file, loops and repeats included; of files that list each edge from both ends, once.
    pub edges: Vec<Edge>,
    pub directed: bool,
    /// The number of vertices that the file declares.
    pub declared: Option<u64>,
    pub weights: Weights,
    /// The weight of each edge, as text has it.
    pub texts: Vec<String>,
}

impl Graph {
    pub fn draw(dice: &mut Dice) -> Graph {
        let kind = one(dice, &KINDS);
        let directed = !matches!(kind, Kind::Half | Kind::Metis) && dice.below(2) == 0;
        let mut edges = shape(dice);
        let few = |dice: &mut Dice| if dice.below(2) == 0 { 0 } else { dice.below(5) };
        for _ in 0..few(dice) {
            if !edges.is_empty() {
                let [u, v] = one(dice, &edges);
                edges.push(if dice.below(2) == 0 { [u, v] } else { [v, u] });
            }
        }
        // A list from both ends has no place for loops that all readers agree on.
        let both_ends = kind == Kind::Metis || (kind == Kind::Gap && !directed);
        for _ in 0..few(dice) {
            let v = dice.below(9);
            edges.push([v, v]);
        }
        edges.retain(|[u, v]| u != v || !both_ends);
        edges.sort_by_cached_key(|_| dice.roll());
        let largest = edges.iter().flatten().max().map_or(0, |id| id + 1);
        let dense = matches!(kind, Kind::Npz | Kind::Mtx | Kind::Half | Kind::Metis | Kind::Gr | Kind::Gap);
        // Each id of the shape becomes another: in another order, with gaps, or from all that the format holds.
        let most = match kind {
            _ if dense => largest,
            Kind::U32 => u64::from(u32::MAX),
            Kind::Graph500 => 1 << 47,
            _ => u64::MAX,
        };
        let spread = [largest, 2 * largest + 3, 3_000_000, most][dice.below(4) as usize].clamp(largest, most).max(1);
        let mut ids: BTreeMap<u64, u64> = BTreeMap::new();
        let mut taken = std::collections::BTreeSet::new();
        for id in edges.iter().flatten() {
            ids.entry(*id).or_insert_with(|| {
                loop {
                    let id = dice.below(spread);
                    if taken.insert(id) {
                        return id;
                    }
                }
            });
        }
        edges.iter_mut().for_each(|edge| *edge = edge.map(|id| ids[&id]));
        let declares = dense || kind == Kind::Npz;
        let top = edges.iter().flatten().max().map_or(0, |id| id + 1);
        let declared = declares.then(|| (top + dice.below(3)).max(1));
        let any = [Weights::None, Weights::Whole, Weights::Decimal];
        let weights = match kind {
            Kind::U32 | Kind::U64 | Kind::Npy => Weights::None,
            Kind::Gr => Weights::Whole,
            Kind::Metis | Kind::Gap => one(dice, &any[..2]),
            Kind::Graph500 => one(dice, &[Weights::None, Weights::Decimal]),
            _ => one(dice, &any),
        };
        let text = |_: &Edge| match weights {
            Weights::None => String::new(),
            Weights::Whole => one(dice, &[0, 1, 2, 7, 1000, 1 << 24]).to_string(),
            // Sums of tenths are rounded.
            Weights::Decimal => format!("{}.{}", dice.below(4), 1 + dice.below(9)),
        };
        let texts = edges.iter().map(text).collect();
        Graph { kind, edges, directed, declared, weights, texts }
    }

    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Text if self.weights == Weights::None => "a.txt",
            Kind::Text => "a.wel",
            Kind::Csv => "a.csv",
            Kind::U32 => "a.u32",
            Kind::U64 => "a.u64",
            Kind::Npy => "a.npy",
            Kind::Npz => "a.npz",
            Kind::Mtx | Kind::Half => "a.mtx",
            Kind::Metis => "a.graph",
            Kind::Gr => "a.gr",
            Kind::Graph500 => "a.graph500",
            Kind::Gap if self.weights == Weights::None => "a.sg",
            Kind::Gap => "a.wsg",
        }
    }

    /// The lines of `[input]` that say how the file is read.
    pub fn options(&self) -> &'static str {
        match (self.kind, self.weights) {
            (Kind::Text, Weights::None) => "columns = [1, 2]\nskip_lines = 0\n",
            (Kind::Text, _) => "columns = [1, 2, 3]\nskip_lines = 0\n",
            _ => "",
        }
    }

    /// The files: the first has [`Self::name`].
    pub fn files(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut files = vec![(self.name(), self.bytes())];
        if self.kind == Kind::Graph500 && self.weights != Weights::None {
            files
                .push(("a.graph500.weights", self.decimals().iter().flat_map(|weight| weight.to_le_bytes()).collect()));
        }
        files
    }

    /// The weights as f32.
    pub fn decimals(&self) -> Vec<f32> {
        self.texts.iter().map(|text| text.parse().expect("a number")).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        let (edges, weighted) = (&self.edges, self.weights != Weights::None);
        let count = self.declared.unwrap_or(0);
        let lines = |head: String, gap: &str, base: u64, tag: &str| {
            let mut text = head;
            for ([u, v], weight) in edges.iter().zip(&self.texts) {
                write!(text, "{tag}{}{gap}{}", u + base, v + base).expect("memory");
                if weighted {
                    write!(text, "{gap}{weight}").expect("memory");
                }
                text.push('\n');
            }
            text.into_bytes()
        };
        let matrix = |symmetry: &str| {
            let field = ["pattern", "integer", "real"][self.weights as usize];
            format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n{count} {count} {}\n", edges.len())
        };
        match self.kind {
            Kind::Text => lines("# made for a test\n".into(), " ", 0, ""),
            Kind::Csv => lines(format!("source,target{}\n", if weighted { ",weight" } else { "" }), ",", 0, ""),
            Kind::Gr => lines(format!("c made for a test\np sp {count} {}\n", edges.len()), " ", 1, "a "),
            Kind::Mtx => lines(matrix("general"), " ", 1, ""),
            Kind::Half => {
                let mut lower = self.clone();
                lower.edges.iter_mut().for_each(|[u, v]| [*u, *v] = [*u.max(v), *u.min(v)]);
                Graph { kind: Kind::Mtx, ..lower }.bytes_as(&matrix("symmetric"))
            }
            Kind::U32 => edges.iter().flatten().flat_map(|&id| (id as u32).to_le_bytes()).collect(),
            Kind::U64 => edges.iter().flatten().flat_map(|id| id.to_le_bytes()).collect(),
            Kind::Npy => {
                let flat: Vec<u64> = edges.iter().flatten().copied().collect();
                array("<u8", "False", &format!("({}, 2)", edges.len()), &numbers(&flat, "<u8", 8))
            }
            Kind::Npz => self.matrix_of_scipy(count),
            Kind::Metis => {
                let mut text = format!("{count} {}{}\n", edges.len(), if weighted { " 1" } else { "" });
                for row in self.lists(count, false) {
                    let entry = |&(v, number): &(u64, usize)| {
                        format!("{}{}{}", v + 1, if weighted { " " } else { "" }, self.texts[number])
                    };
                    text += &(row.iter().map(entry).collect::<Vec<_>>().join(" ") + "\n");
                }
                text.into_bytes()
            }
            Kind::Graph500 => {
                let record = |[u, v]: &Edge| {
                    let low = [*u as u32, *v as u32].map(u32::to_le_bytes).concat();
                    [low, [(u >> 32) as u16, (v >> 32) as u16].map(u16::to_le_bytes).concat()].concat()
                };
                edges.iter().flat_map(record).collect()
            }
            Kind::Gap => {
                let (mut entries, mut body) = (0, Vec::new());
                for swapped in [false, true].into_iter().take(1 + usize::from(self.directed)) {
                    let lists = self.lists(count, swapped);
                    let mut start = 0u64;
                    body.extend(start.to_le_bytes());
                    for list in &lists {
                        start += list.len() as u64;
                        body.extend(start.to_le_bytes());
                    }
                    entries = start;
                    for &(v, number) in lists.iter().flatten() {
                        body.extend((v as u32).to_le_bytes());
                        if weighted {
                            body.extend(self.texts[number].parse::<i32>().expect("a whole number").to_le_bytes());
                        }
                    }
                }
                let head = [entries, count].map(u64::to_le_bytes).concat();
                [vec![u8::from(self.directed)], head, body].concat()
            }
        }
    }

    /// The lines of a matrix under another header.
    fn bytes_as(&self, head: &str) -> Vec<u8> {
        let body = self.bytes();
        let lines = body.split_inclusive(|byte| *byte == b'\n').skip(2);
        [head.as_bytes(), &lines.collect::<Vec<_>>().concat()].concat()
    }

    /// The neighbours of every vertex with the number of the edge: of a graph without direction from both ends, and `swapped` those that lead to it.
    fn lists(&self, count: u64, swapped: bool) -> Vec<Vec<(u64, usize)>> {
        let mut lists = vec![Vec::new(); count as usize];
        for (number, &[u, v]) in self.edges.iter().enumerate() {
            let [from, to] = if swapped { [v, u] } else { [u, v] };
            lists[from as usize].push((to, number));
            if !self.directed {
                lists[to as usize].push((from, number));
            }
        }
        lists.iter_mut().for_each(|list| list.sort_unstable());
        lists
    }

    /// A matrix in rows, as scipy saves it.
    fn matrix_of_scipy(&self, count: u64) -> Vec<u8> {
        let mut order: Vec<usize> = (0..self.edges.len()).collect();
        order.sort_by_key(|&number| self.edges[number][0]);
        let line =
            |values: Vec<u64>| array("<i8", "False", &format!("({},)", values.len()), &numbers(&values, "<i8", 8));
        let starts = (0..=count).map(|row| self.edges.iter().filter(|[u, _]| *u < row).count() as u64).collect();
        let shape = format!("({},)", order.len());
        let data = match self.weights {
            Weights::None => array("|b1", "False", &shape, &vec![1; order.len()]),
            Weights::Whole => line(order.iter().map(|&number| self.texts[number].parse().expect("whole")).collect()),
            Weights::Decimal => {
                let decimals = self.decimals();
                let bytes: Vec<u8> = order.iter().flat_map(|&number| decimals[number].to_le_bytes()).collect();
                array("<f4", "False", &shape, &bytes)
            }
        };
        let members = [
            ("indices.npy", line(order.iter().map(|&number| self.edges[number][1]).collect())),
            ("indptr.npy", line(starts)),
            ("format.npy", array("|S3", "False", "()", b"csr")),
            ("shape.npy", line(vec![count, count])),
            ("data.npy", data),
        ];
        zip(&members, count.is_multiple_of(2))
    }
}

/// Edges of one shape, whose ids are from 0 on.
fn shape(dice: &mut Dice) -> Vec<Edge> {
    let n = 1 + dice.below(24);
    let random = |dice: &mut Dice, n: u64, count: u64| (0..count).map(|_| [dice.below(n), dice.below(n)]).collect();
    let path = |n: u64| (1..n).map(|v| [v - 1, v]);
    match dice.below(12) {
        0 => Vec::new(),
        1 => path(n).collect(),
        2 => path(n).chain(Some([n - 1, 0])).collect(),
        3 => (1..n).map(|v| [0, v]).collect(),
        4 => (0..n.min(9)).flat_map(|u| (0..u).map(move |v| [u, v])).collect(),
        // Two cliques that an edge joins.
        5 => {
            let one = |first: u64| (0..5).flat_map(move |u| (0..u).map(move |v| [first + u, first + v]));
            one(0).chain(one(5)).chain(Some([dice.below(5), 5 + dice.below(5)])).collect()
        }
        6 => (1..n).map(|v| [dice.below(v), v]).collect(),
        7 => (0..n / 2).flat_map(|u| (n / 2..n).map(move |v| [u, v])).collect(),
        // No cycle where direction is kept.
        8 => (0..2 * n)
            .map(|_| [dice.below(n), dice.below(n)])
            .map(|[u, v]| [u.min(v), u.max(v)])
            .filter(|[u, v]| u != v)
            .collect(),
        9 => random(dice, 300, 900),
        10 => random(dice, n, n),
        _ => random(dice, n, 4 * n),
    }
}
