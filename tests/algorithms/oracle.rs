//! Answers made another way: from sets of neighbours, by what the documentation says of each column.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::{Dice, random_edges};

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
    /// The weight of each edge: whole, or decimal where ids are sparse.
    weights: Vec<Weight>,
}

/// A weight as text has it, and as 32 bits.
type Weight = (String, u32);

/// The weights of edges, from tail to head.
type WeightOf<'a> = &'a dyn Fn(u64, u64) -> u64;

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
        let mut dice = Dice(edges.len() as u64);
        // Few different ones, so that some of a pair's are equal; the smallest and the largest that every format has are among them.
        let whole = |number: u64| [0, 7, 1 << 24, u32::MAX - 255][number as usize];
        let weight = |number: u64| match sparse {
            true => (format!("{}.{}", number, 125 * number), (number as f32 + number as f32 / 8.0).to_bits()),
            false => (whole(number).to_string(), whole(number)),
        };
        let weights = edges.iter().map(|_| weight(dice.below(4))).collect();
        Graph { edges, rows, sparse, neighbours, weights }
    }

    /// The edges as text with weights.
    pub fn text(&self) -> String {
        self.edges.iter().zip(&self.weights).map(|([u, v], (weight, _))| format!("{u} {v} {weight}\n")).collect()
    }

    /// The edges with the bits of their weights.
    pub fn weighted(&self) -> Vec<([u64; 2], u32)> {
        self.edges.iter().copied().zip(self.weights.iter().map(|(_, bits)| *bits)).collect()
    }

    /// The bits of the smallest weight of each pair of vertices, in order if edges have direction, else both ways.
    pub fn least(&self, directed: bool) -> BTreeMap<(u64, u64), u64> {
        let mut least = BTreeMap::new();
        for (&[u, v], &(_, bits)) in self.edges.iter().zip(&self.weights) {
            let ways = if directed { vec![(u, v)] } else { vec![(u, v), (v, u)] };
            for way in ways {
                let smallest = least.entry(way).or_insert(u64::from(bits));
                *smallest = (*smallest).min(bits.into());
            }
        }
        least
    }

    /// Two ids: one with edges, one with a loop alone.
    fn sources(&self) -> [u64; 2] {
        [self.rows[5], self.rows[self.rows.len() - 1]]
    }

    pub fn of(&self, id: u64) -> impl Iterator<Item = u64> {
        self.neighbours.get(&id).into_iter().flatten().copied()
    }

    pub fn degree(&self, id: u64) -> u64 {
        self.of(id).count() as u64
    }

    pub fn edges(&self) -> impl Iterator<Item = (u64, u64)> {
        self.neighbours.iter().flat_map(|(&u, all)| all.range(u..).map(move |&v| (u, v)))
    }

    /// A column of every row, where a vertex without an edge has `isolated`.
    fn column<const N: usize>(&self, isolated: [u8; N], of: impl Fn(u64) -> [u8; N]) -> Vec<u8> {
        self.rows.iter().flat_map(|&id| if self.degree(id) == 0 { isolated } else { of(id) }).collect()
    }

    /// The answer of a table that writes columns: the name, the type, and the bytes of the rows of each.
    pub fn of_columns<const N: usize>(
        &self,
        (name, keys, directed): (&str, &str, bool),
        found: Value,
        columns: [(&str, &'static str, Vec<u8>); N],
    ) -> Answer {
        let of = |(column, descr, bytes)| (format!("{name}/{column}"), (descr, bytes));
        let mut columns: BTreeMap<_, _> = columns.into_iter().map(of).collect();
        if self.sparse {
            columns.insert("ids".into(), ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect()));
        }
        let direction = if directed { "# direction = true\n" } else { "" };
        Answer { table: format!("[{name}]\n{direction}{keys}"), found, columns }
    }

    /// What every algorithm of the registry answers, each with and without its columns.
    pub fn answers(&self) -> Vec<Answer> {
        let mut ids = BTreeMap::new();
        if self.sparse {
            ids.insert("ids".into(), ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>()));
        }
        let mut known = vec![self.triangle()];
        for directed in [false, true] {
            known.push(self.sums_of("", directed, &|_, _| 1));
            known.push(self.sums_of("upper = true\n", directed, &|_, _| 1));
            known.extend(self.weighted_sums(directed));
            known.push(self.searches(directed));
            known.extend(self.paths(directed));
        }
        known
            .into_iter()
            .flat_map(|([plain, columns], found, files)| {
                let files = files.into_iter().map(|(name, descr, bytes)| (name, (descr, bytes)));
                [
                    Answer { table: plain, found: found.clone(), columns: BTreeMap::new() },
                    Answer { table: columns, found, columns: files.chain(ids.clone()).collect() },
                ]
            })
            .chain([false, true].map(|directed| self.links(directed)))
            .chain([false, true].map(|directed| self.supports(directed)))
            .chain([false, true].map(|per_edge| self.comparisons(per_edge)))
            .chain([false, true].map(|directed| self.depth_first(directed)))
            .chain([false, true].map(|directed| self.traversals(directed)))
            .chain([false, true].map(|directed| self.components(directed)))
            .chain([false, true].map(|directed| self.strong_components(directed)))
            .chain([false, true].map(|directed| self.communities(directed)))
            .chain([false, true].map(|directed| self.cores(directed)))
            .chain([false, true].map(|directed| self.pagerank(directed)))
            .chain([false, true].map(|directed| self.betweenness(directed)))
            .chain([false, true].map(|directed| self.distances(directed)))
            .collect()
    }

    /// Steps of merges, next to the triangles of vertices or of edges.
    fn comparisons(&self, per_edge: bool) -> Answer {
        let mut answer = match per_edge {
            true => self.supports(false),
            false => {
                let ([_, table], found, files) = self.triangle();
                let files = files.into_iter().map(|(name, descr, bytes)| (name, (descr, bytes)));
                let ids = || ("<u8", self.rows.iter().flat_map(|id| id.to_le_bytes()).collect());
                Answer { table, found, columns: files.chain(self.sparse.then(|| ("ids".into(), ids()))).collect() }
            }
        };
        answer.table += "comparisons = true\n";
        answer.found["comparisons"] = crate::comparisons::of(&self.edges);
        answer
    }

    /// Sums of edges with these weights.
    pub fn sums_of(&self, keys: &str, directed: bool, weight: WeightOf<'_>) -> Known {
        if directed { self.sums_by_direction(keys, weight) } else { self.sums(keys, weight) }
    }

    /// Sums of weighted edges. With the upper half of rows, those of the lower half count twice beside it.
    pub fn weighted_sums(&self, directed: bool) -> Vec<Known> {
        let least = self.least(directed);
        let file = |u: u64, v: u64| least[&(u, v)];
        let drawn = |range: &str, of: fn(u64) -> u64| {
            let weight = |u: u64, v: u64| of(drawn_hash(7, if directed || u < v { [u, v] } else { [v, u] }));
            self.sums_of(&format!("weights = {{ uniform = {range}, seed = 7 }}\n"), directed, &weight)
        };
        let mut known = match directed {
            false => vec![drawn("[3, 1000]", |hash| 3 + (((hash >> 32) * 998) >> 32))],
            true => vec![
                drawn("[0.5, 2]", |hash| (0.5 + (hash >> 40) as f32 / 16_777_216.0 * 1.5).to_bits().into()),
                self.sums_of("weights = { unit = true }\nupper = true\n", directed, &|_, _| 3),
            ],
        };
        known.push(self.sums_of("weights = \"file\"\n", directed, &file));
        let thrice = |u: u64, v: u64| file(u, v).wrapping_mul(3);
        known.push(self.sums_of("weights = \"file\"\nupper = true\n", directed, &thrice));
        known
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
            ("degree".into(), "<u4", self.column([0; 4], |id| (self.degree(id) as u32).to_le_bytes())),
            ("clustering".into(), "<f8", self.column([0; 8], |id| clustering(id).to_le_bytes())),
        ];
        (tables, json!({ "triangles": triangles, "wedges": wedges }), files)
    }

    /// Links by their definition: each neighbour of a vertex with each other one.
    fn links(&self, directed: bool) -> Answer {
        let mut edges: BTreeSet<[u64; 2]> = self.edges.iter().copied().collect();
        if !directed {
            edges.extend(self.edges.iter().map(|&[u, v]| [v, u]));
        }
        let joins = |id: u64, u: u64| self.of(id).filter(|&w| u != w && edges.contains(&[u, w])).count();
        let of: BTreeMap<u64, u64> =
            self.rows.iter().map(|&id| (id, self.of(id).map(|u| joins(id, u) as u64).sum())).collect();
        let clustering = |id: u64| match self.degree(id) as f64 {
            d if d < 2.0 => 0.0,
            d => of[&id] as f64 / (d * (d - 1.0)),
        };
        let (_, mut found, files) = self.triangle();
        found["links"] = of.values().sum::<u64>().into();
        let links = self.column([0; 8], |id| of[&id].to_le_bytes());
        let clustering = self.column([0; 8], |id| clustering(id).to_le_bytes());
        let mut answer = self.of_columns(("triangle", "clustering = 'directed'\n", directed), found, []);
        answer.columns.extend(
            files.into_iter().filter(|(name, ..)| name == "degree").map(|(name, descr, bytes)| (name, (descr, bytes))),
        );
        answer.columns.insert("links".into(), ("<u8", links));
        answer.columns.insert("clustering".into(), ("<f8", clustering));
        answer
    }

    /// Common neighbours of the ends of each edge, in the order of the rows that edges are entries of: by descending degree, where repeats count.
    pub fn supports(&self, directed: bool) -> Answer {
        let mut degrees: BTreeMap<u64, usize> = BTreeMap::new();
        for &id in self.edges.iter().filter(|[u, v]| u != v).flatten() {
            *degrees.entry(id).or_default() += 1;
        }
        let mut order: Vec<u64> = degrees.keys().copied().collect();
        order.sort_by_key(|id| (std::cmp::Reverse(degrees[id]), *id));
        let edges = order.iter().enumerate().flat_map(|(at, &v)| {
            order[..at].iter().filter(move |u| self.neighbours[&v].contains(u)).map(move |&u| (u.min(v), u.max(v)))
        });
        let edges: Vec<(u64, u64)> = edges.collect();
        let common = |u: u64, v: u64| self.neighbours[&u].intersection(&self.neighbours[&v]).count() as u32;
        let supports: Vec<u32> = edges.iter().map(|&(u, v)| common(u, v)).collect();
        let mut found = self.triangle().1;
        let in_triangles = supports.iter().filter(|&&support| support > 0).count();
        found["support"] =
            json!({ "edges": edges.len(), "in_triangles": in_triangles, "largest": supports.iter().max() });
        let ends = |of: fn(&(u64, u64)) -> u64| edges.iter().flat_map(|edge| of(edge).to_le_bytes()).collect();
        let columns = [
            ("source", "<i8", ends(|edge| edge.0)),
            ("target", "<i8", ends(|edge| edge.1)),
            ("support", "<u4", supports.iter().flat_map(|support| support.to_le_bytes()).collect()),
        ];
        self.of_columns(("triangle", "per_edge = true\n", directed), found, columns)
    }

    /// The sums of a graph that keeps direction.
    fn sums_by_direction(&self, keys: &str, weight: WeightOf<'_>) -> Known {
        let mut rows: [BTreeMap<u64, BTreeSet<u64>>; 2] = Default::default();
        for &[u, v] in self.edges.iter().filter(|[u, v]| u != v) {
            rows[0].entry(u).or_default().insert(v);
            rows[1].entry(v).or_default().insert(u);
        }
        let [out, into] = rows;
        let degree = |rows: &BTreeMap<u64, BTreeSet<u64>>, id: u64| rows.get(&id).map_or(0, |row| row.len() as u64);
        let out_sum = |u: u64| {
            let of = out.get(&u).into_iter().flatten();
            sum_up(of.map(|&v| degree(&into, v).wrapping_mul(weight(u, v))))
        };
        let in_sum = |v: u64| {
            let of = into.get(&v).into_iter().flatten();
            sum_up(of.map(|&u| degree(&out, u).wrapping_mul(weight(u, v))))
        };
        let total = sum_up(out.keys().map(|&u| degree(&out, u).wrapping_mul(out_sum(u))));
        let files = vec![
            ("out_u64".into(), "<u8", self.column([0; 8], |id| out_sum(id).to_le_bytes())),
            ("in_u64".into(), "<u8", self.column([0; 8], |id| in_sum(id).to_le_bytes())),
        ];
        let table = format!("[sums]\ndirection = true\n{keys}");
        ([table.clone(), format!("{table}columns = true\n")], json!({ "total": total }), files)
    }

    /// By the rows of the lower half, or as `keys` say by those of the upper, or by both.
    fn sums(&self, keys: &str, weight: WeightOf<'_>) -> Known {
        let product = |(u, v): (u64, u64)| (self.degree(u) * self.degree(v)).wrapping_mul(weight(u, v));
        let total = sum_up(self.edges().map(product));
        let sum = |id: u64| sum_up(self.of(id).map(|v| self.degree(v).wrapping_mul(weight(id, v))));
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
        let tables = [format!("[sums]\n{keys}"), format!("[sums]\n{keys}columns = true\nsources = {sources:?}\n")];
        (tables, json!({ "total": total }), files)
    }
}

/// A sum modulo 2^64.
fn sum_up(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0, u64::wrapping_add)
}

/// The hash by which weights are drawn, as the documentation has it: SplitMix64 over the seed and both ids.
pub fn drawn_hash(seed: u64, ids: [u64; 2]) -> u64 {
    let mut state = 0u64;
    for word in [seed].into_iter().chain(ids) {
        let mut x = state.wrapping_add(word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state = x ^ (x >> 31);
    }
    state
}

/// Tables without and with columns, fields of results, columns.
pub type Known = ([String; 2], Value, Vec<(String, &'static str, Vec<u8>)>);
