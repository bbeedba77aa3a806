//! What tasks must leave, found here from lists of edges: every column, value by value.
//!
//! A new column is a line of [`is`] in the check of its table; one that no line knows fails the test.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::graph::{Graph, Weights};
use crate::corpus::one;
use crate::reader::Edge;
use crate::support::Dice;

/// A table of a job.
#[derive(Debug, Clone)]
pub enum Task {
    Triangle { per_vertex: bool },
    Links,
    Bfs { source: u64 },
    Traverse { source: u64, strategy: &'static str },
    Dfs { source: Option<u64>, articulation: bool, multigraph: bool, strong: bool },
    Sssp { source: u64, unit: bool, method: &'static str, target: Option<u64> },
}

impl Task {
    /// A table that may be asked of the graph; sources are vertices that an edge has.
    pub fn draw(dice: &mut Dice, graph: &Graph) -> Task {
        let ids: Vec<u64> = graph.edges.iter().flatten().copied().collect();
        let kind = if ids.is_empty() { [0, 3][dice.below(2) as usize] } else { dice.below(6) };
        let vertex = |dice: &mut Dice| one(dice, &ids);
        match kind {
            0 if dice.below(4) == 0 => Task::Links,
            0 => Task::Triangle { per_vertex: dice.below(3) > 0 },
            1 => Task::Bfs { source: vertex(dice) },
            2 => Task::Traverse { source: vertex(dice), strategy: one(dice, &["sort-unique", "atomic", "auto"]) },
            3 | 4 => {
                let source = (!ids.is_empty() && dice.below(2) == 0).then(|| vertex(dice));
                let [more, again] = [dice.below(3) > 0, dice.below(2) == 0];
                let articulation = more && !graph.directed;
                Task::Dfs { source, articulation, multigraph: articulation && again, strong: more && graph.directed }
            }
            _ => {
                let unit = graph.weights == Weights::None || dice.below(3) == 0;
                let method = one(dice, &["auto", "moore", "delta-stepping", "bellman-ford"]);
                let target = (dice.below(2) == 0).then(|| vertex(dice));
                Task::Sssp { source: vertex(dice), unit, method, target }
            }
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Task::Triangle { .. } | Task::Links => "triangle",
            Task::Bfs { .. } => "bfs",
            Task::Traverse { .. } => "traverse",
            Task::Dfs { .. } => "dfs",
            Task::Sssp { .. } => "sssp",
        }
    }

    /// True if it reads the weights of the file.
    pub fn reads_weights(&self) -> bool {
        matches!(self, Task::Sssp { unit: false, .. })
    }

    /// True if it computes on graphs of this direction alone.
    pub fn is_of(&self, directed: bool) -> bool {
        match self {
            Task::Dfs { articulation, strong, .. } => !(if directed { *articulation } else { *strong }),
            _ => true,
        }
    }

    /// Vertices that it names.
    pub fn names(&self) -> Vec<u64> {
        match *self {
            Task::Triangle { .. } | Task::Links => Vec::new(),
            Task::Bfs { source } | Task::Traverse { source, .. } => vec![source],
            Task::Dfs { source, .. } => source.into_iter().collect(),
            Task::Sssp { source, target, .. } => target.into_iter().chain([source]).collect(),
        }
    }

    pub fn table(&self) -> String {
        let name = self.name();
        match self {
            Task::Triangle { per_vertex } => format!("[{name}]\nper_vertex = {per_vertex}\n"),
            Task::Links => format!("[{name}]\nclustering = 'directed'\n"),
            Task::Bfs { source } => format!("[{name}]\nsources = [{source}]\nwrite = true\n"),
            Task::Traverse { source, strategy } => {
                format!("[{name}]\nsources = [{source}]\nstrategy = '{strategy}'\nwrite = true\n")
            }
            Task::Dfs { source, articulation, multigraph, strong } => {
                let begin = source.map_or("forest = true".into(), |source| format!("source = {source}"));
                let strong = if *strong { "components = 'strong'\n" } else { "" };
                format!("[{name}]\n{begin}\narticulation = {articulation}\nmultigraph = {multigraph}\n{strong}")
            }
            Task::Sssp { source, unit, method, target } => {
                let weights = if *unit { "{ unit = true }" } else { "'file'" };
                let target = target.map_or(String::new(), |target| format!("target = {target}\n"));
                format!(
                    "[{name}]\nsources = [{source}]\nmethod = '{method}'\nweights = {weights}\nwrite = true\n{target}"
                )
            }
        }
    }
}

/// A column as it was written: by id, each value as text.
pub type Column = BTreeMap<u64, String>;

/// Edges as tasks see them.
pub struct Seen<'a> {
    pub graph: &'a Graph,
    directed: bool,
    degrees: BTreeMap<u64, u64>,
    out: BTreeMap<u64, BTreeSet<u64>>,
    into: BTreeMap<u64, BTreeSet<u64>>,
    /// The number of the lightest edge from each vertex to each neighbour.
    lightest: BTreeMap<Edge, usize>,
}

impl<'a> Seen<'a> {
    pub fn new(graph: &'a Graph, directed: bool) -> Seen<'a> {
        let mut seen = Seen {
            graph,
            directed,
            degrees: BTreeMap::new(),
            out: BTreeMap::new(),
            into: BTreeMap::new(),
            lightest: BTreeMap::new(),
        };
        let decimals = if graph.weights == Weights::None { Vec::new() } else { graph.decimals() };
        for (number, &[u, v]) in graph.edges.iter().enumerate().filter(|(_, [u, v])| u != v) {
            for (from, to, counts) in [(u, v, true), (v, u, !directed)] {
                *seen.degrees.entry(from).or_default() += 1;
                if counts {
                    seen.out.entry(from).or_default().insert(to);
                    seen.into.entry(to).or_default().insert(from);
                    let least = seen.lightest.entry([from, to]).or_insert(number);
                    if !decimals.is_empty() && decimals[number] < decimals[*least] {
                        *least = number;
                    }
                }
            }
        }
        seen
    }

    /// The place of a vertex in the order of vertices.
    fn place(&self, id: u64) -> (Reverse<u64>, u64) {
        (Reverse(self.degrees.get(&id).copied().unwrap_or(0)), id)
    }

    /// The vertices that an edge leads to from one, in order.
    fn row(&self, id: u64) -> Vec<u64> {
        let mut row: Vec<u64> = self.out.get(&id).into_iter().flatten().copied().collect();
        row.sort_by_key(|&id| self.place(id));
        row
    }

    fn before(&self, id: u64) -> impl Iterator<Item = u64> {
        self.into.get(&id).into_iter().flatten().copied()
    }

    /// True if a vertex has an edge other than a loop.
    pub fn has(&self, id: u64) -> bool {
        self.degrees.contains_key(&id)
    }

    /// Distinct edges that are no loops.
    pub fn distinct(&self) -> usize {
        self.lightest.len() / if self.directed { 1 } else { 2 }
    }
}

/// Fails unless a column has these values, and `otherwise` where none is given.
fn is(
    name: &str,
    columns: &mut BTreeMap<String, Column>,
    otherwise: &str,
    known: &BTreeMap<u64, String>,
) -> Result<(), String> {
    let column = columns.remove(name).ok_or_else(|| format!("no column {name}"))?;
    for (id, value) in &column {
        let known = known.get(id).map_or(otherwise, |known| known);
        if value != known {
            return Err(format!("{name} of {id} is {value}, not {known}"));
        }
    }
    match known.keys().find(|id| !column.contains_key(id)) {
        Some(id) => Err(format!("{name} has no row of {id}")),
        None => Ok(()),
    }
}

/// Fails unless a field of results has this value.
fn has(found: &Value, field: &str, known: impl Into<Value>) -> Result<(), String> {
    let (is, known) = (&found[field], known.into());
    if *is == known { Ok(()) } else { Err(format!("{field} is {is}, not {known}: {found}")) }
}

fn text<T: ToString>(values: impl IntoIterator<Item = (u64, T)>) -> BTreeMap<u64, String> {
    values.into_iter().map(|(id, value)| (id, value.to_string())).collect()
}

impl Task {
    /// Fails unless the results and the columns are right; columns that were looked at are taken out. Of a graph that was `kept`, loops are not known.
    pub fn check(
        &self,
        seen: &Seen<'_>,
        found: &Value,
        columns: &mut BTreeMap<String, Column>,
        kept: bool,
    ) -> Result<(), String> {
        match *self {
            Task::Triangle { per_vertex } => triangles(seen.graph, per_vertex, found, columns),
            Task::Links => links(seen, found, columns),
            Task::Bfs { source } | Task::Traverse { source, .. } => {
                levels(self.name(), seen, source, &found["sources"][0], columns)
            }
            Task::Dfs { source, articulation, multigraph, strong } => {
                let tree = Tree::of(seen, source);
                tree.check(found, columns)?;
                if articulation {
                    tree.cuts(multigraph, found, columns)?;
                }
                if strong { tree.components(source, kept, found, columns) } else { Ok(()) }
            }
            Task::Sssp { source, unit, target, .. } => {
                let kind = if unit { Weights::None } else { seen.graph.weights };
                let found = &found["sources"][0];
                if kind == Weights::Decimal {
                    let weights = seen.graph.decimals();
                    paths(seen, source, target, f32::INFINITY, 0.0, &|number| weights[number], found, columns)
                } else {
                    let whole = |number: usize| if unit { 1 } else { seen.graph.texts[number].parse().expect("whole") };
                    paths::<u64>(seen, source, target, u64::MAX, 0, &whole, found, columns)
                }
            }
        }
    }
}

fn triangles(
    graph: &Graph,
    per_vertex: bool,
    found: &Value,
    columns: &mut BTreeMap<String, Column>,
) -> Result<(), String> {
    let seen = Seen::new(graph, false);
    let mut of: BTreeMap<u64, u64> = seen.out.keys().map(|&id| (id, 0)).collect();
    let mut all = 0;
    for (&u, row) in &seen.out {
        for &v in row.range(u + 1..) {
            for w in row.range(v + 1..).filter(|w| seen.out[&v].contains(w)) {
                all += 1;
                [u, v, *w].iter().for_each(|id| *of.entry(*id).or_default() += 1);
            }
        }
    }
    has(found, "triangles", all)?;
    let pairs = |id: u64| (seen.out[&id].len() * (seen.out[&id].len() - 1) / 2) as u64;
    has(found, "wedges", seen.out.keys().map(|&id| pairs(id)).sum::<u64>())?;
    if !per_vertex {
        return Ok(());
    }
    is("triangles", columns, "0", &text(of.clone()))?;
    let clustering =
        |(&id, &count): (&u64, &u64)| (id, if pairs(id) == 0 { 0.0 } else { count as f64 / pairs(id) as f64 });
    is("clustering", columns, "0", &text(of.iter().map(clustering)))?;
    is("degree", columns, "0", &text(seen.out.iter().map(|(&id, row)| (id, row.len()))))
}

fn links(seen: &Seen<'_>, found: &Value, columns: &mut BTreeMap<String, Column>) -> Result<(), String> {
    let row = |rows: &BTreeMap<u64, BTreeSet<u64>>, id: u64| rows.get(&id).cloned().unwrap_or_default();
    let around = |id: u64| &row(&seen.out, id) | &row(&seen.into, id);
    let links = |id: u64| around(id).iter().map(|&u| (&row(&seen.out, u) & &around(id)).len()).sum::<usize>();
    let of: BTreeMap<u64, [usize; 2]> = seen.degrees.keys().map(|&id| (id, [links(id), around(id).len()])).collect();
    let clustering = |(&id, &[links, degree]): (&u64, &[usize; 2])| {
        let pairs = degree * degree.saturating_sub(1);
        (id, if pairs == 0 { 0.0 } else { links as f64 / pairs as f64 })
    };
    has(found, "links", of.values().map(|[links, _]| links).sum::<usize>())?;
    is("links", columns, "0", &text(of.iter().map(|(&id, &[links, _])| (id, links))))?;
    is("clustering", columns, "0", &text(of.iter().map(clustering)))?;
    is("degree", columns, "0", &text(of.iter().map(|(&id, &[_, degree])| (id, degree))))
}

fn levels(
    name: &str,
    seen: &Seen<'_>,
    source: u64,
    found: &Value,
    columns: &mut BTreeMap<String, Column>,
) -> Result<(), String> {
    let mut levels = BTreeMap::from([(source, 0)]);
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for v in seen.row(u) {
            if !levels.contains_key(&v) {
                levels.insert(v, levels[&u] + 1);
                queue.push_back(v);
            }
        }
    }
    let parent = |(&id, &level): (&u64, &i32)| {
        let before = seen.before(id).filter(|v| levels.get(v) == Some(&(level - 1)));
        (id, before.min_by_key(|&v| seen.place(v)).unwrap_or(id) as i64)
    };
    has(found, "reached", levels.len())?;
    has(found, "depth", levels.values().copied().max())?;
    is(&format!("{name}/{source}/parent"), columns, "-1", &text(levels.iter().map(parent)))?;
    is(&format!("{name}/{source}/level"), columns, "-1", &text(levels))
}

/// A sum of weights.
trait Sum: Copy + PartialOrd + ToString + serde::Serialize + std::ops::Add<Output = Self> {
    /// As text has it: an f32 by the digits of the f64 that it is.
    fn shown(self) -> String {
        self.to_string()
    }
}
impl Sum for u64 {}
impl Sum for f32 {
    fn shown(self) -> String {
        f64::from(self).to_string()
    }
}

#[allow(clippy::too_many_arguments)] // a search and what it left
fn paths<S: Sum>(
    seen: &Seen<'_>,
    source: u64,
    target: Option<u64>,
    none: S,
    zero: S,
    weight: &dyn Fn(usize) -> S,
    found: &Value,
    columns: &mut BTreeMap<String, Column>,
) -> Result<(), String> {
    // Rounds of all edges, until nothing is nearer.
    let mut distances = BTreeMap::from([(source, zero)]);
    loop {
        let mut nearer = false;
        for (&[u, v], &number) in &seen.lightest {
            let Some(sum) = distances.get(&u).map(|&distance| distance + weight(number)) else { continue };
            if sum < none && distances.get(&v).is_none_or(|&before| sum < before) {
                distances.insert(v, sum);
                nearer = true;
            }
        }
        if !nearer {
            break;
        }
    }
    has(found, "reached", distances.len())?;
    let most = distances.values().copied().fold(zero, |a, b| if b > a { b } else { a });
    // Reports have an f32 as the f64 that it is.
    let told = found["max_distance"].to_string();
    if told != most.to_string() && told.parse::<f64>().map(|told| told as f32) != most.to_string().parse::<f32>() {
        return Err(format!("max_distance is {told}, not {}", most.to_string()));
    }
    let name = format!("sssp/{source}/parent");
    let parents = columns.get(&name).ok_or_else(|| format!("no column {name}"))?.clone();
    // Steps to a parent that is nearer, or over edges that add nothing to one that has such a parent.
    let leads =
        |u: u64, v: u64| distances.get(&u).is_some_and(|&d| d + weight(seen.lightest[&[u, v]]) == distances[&v]);
    let mut steps: BTreeMap<u64, usize> = BTreeMap::new();
    let mut known: BTreeMap<u64, u64> = BTreeMap::from([(source, source)]);
    for &id in distances.keys() {
        let nearer = seen.before(id).filter(|&u| leads(u, id) && distances[&u] < distances[&id]);
        if let Some(parent) = nearer.min_by_key(|&u| seen.place(u)).filter(|_| id != source) {
            known.insert(id, parent);
            steps.insert(id, 0);
        }
    }
    steps.insert(source, 0);
    for step in 1..=distances.len() {
        let next: Vec<(u64, u64)> = distances
            .keys()
            .filter(|id| !steps.contains_key(id))
            .filter_map(|&id| {
                let before = seen.before(id).filter(|&u| leads(u, id) && steps.get(&u) == Some(&(step - 1)));
                Some((id, before.min_by_key(|&u| seen.place(u))?))
            })
            .collect();
        for (id, parent) in next {
            known.insert(id, parent);
            steps.insert(id, step);
        }
    }
    is(&name, columns, "-1", &text(known.iter().map(|(&id, &parent)| (id, parent as i64))))?;
    if let Some(target) = target {
        let path = &found["path"];
        let mut way = vec![target];
        while let Some(&parent) =
            way.last().and_then(|last| known.get(last)).filter(|&&parent| Some(&parent) != way.last())
        {
            way.push(parent);
        }
        way.reverse();
        let way: Vec<Value> = if parents.get(&target).is_some_and(|parent| parent != "-1") || target == source {
            way.into_iter().map(Value::from).collect()
        } else {
            Vec::new()
        };
        if distances.contains_key(&target) {
            has(path, "vertices", way)?;
        }
    }
    is(
        &format!("sssp/{source}/distance"),
        columns,
        &none.shown(),
        &text(distances.into_iter().map(|(id, sum)| (id, sum.shown()))),
    )
}

/// A depth-first tree or forest.
struct Tree<'a> {
    seen: &'a Seen<'a>,
    /// Parent, preorder, postorder and depth of what was reached.
    numbers: BTreeMap<u64, [i64; 4]>,
    trees: u64,
}

impl<'a> Tree<'a> {
    fn of(seen: &'a Seen<'a>, source: Option<u64>) -> Tree<'a> {
        let mut roots: Vec<u64> = source.map_or_else(|| seen.degrees.keys().copied().collect(), |source| vec![source]);
        roots.sort_by_key(|&id| seen.place(id));
        let (mut numbers, mut left, mut trees) = (BTreeMap::new(), 0, 0);
        for root in roots {
            if numbers.contains_key(&root) {
                continue;
            }
            trees += 1;
            numbers.insert(root, [root as i64, numbers.len() as i64, 0, 0]);
            let mut way = vec![(root, seen.row(root).into_iter())];
            while let Some((u, row)) = way.last_mut() {
                let u = *u;
                match row.find(|v| !numbers.contains_key(v)) {
                    Some(v) => {
                        numbers.insert(v, [u as i64, numbers.len() as i64, 0, way.len() as i64]);
                        way.push((v, seen.row(v).into_iter()));
                    }
                    None => {
                        numbers.entry(u).and_modify(|numbers| numbers[2] = left);
                        left += 1;
                        way.pop();
                    }
                }
            }
        }
        Tree { seen, numbers, trees }
    }

    fn check(&self, found: &Value, columns: &mut BTreeMap<String, Column>) -> Result<(), String> {
        has(found, "trees", self.trees)?;
        has(found, "reached", self.numbers.len())?;
        has(found, "max_depth", self.numbers.values().map(|numbers| numbers[3]).max().unwrap_or(0))?;
        for (number, name) in ["parent", "preorder", "postorder", "depth"].iter().enumerate() {
            let known = self.numbers.iter().map(|(&id, numbers)| (id, numbers[number]));
            is(&format!("dfs/{name}"), columns, "-1", &text(known))?;
        }
        Ok(())
    }

    /// The vertices that hang together with one, without an edge or without a vertex.
    fn part(&self, from: u64, without: impl Fn(usize) -> bool) -> BTreeSet<u64> {
        let (mut part, mut more) = (BTreeSet::from([from]), vec![from]);
        while let Some(at) = more.pop() {
            let edges = self
                .seen
                .graph
                .edges
                .iter()
                .enumerate()
                .filter(|&(number, edge)| edge.contains(&at) && !without(number));
            for (_, &[u, v]) in edges {
                let other = if u == at { v } else { u };
                if part.insert(other) {
                    more.push(other);
                }
            }
        }
        part
    }

    fn cuts(&self, multigraph: bool, found: &Value, columns: &mut BTreeMap<String, Column>) -> Result<(), String> {
        let edges = &self.seen.graph.edges;
        let (mut points, mut bridges) = (BTreeMap::new(), BTreeMap::new());
        for (&id, numbers) in &self.numbers {
            let neighbours = self.seen.out.get(&id).into_iter().flatten().copied().collect::<BTreeSet<u64>>();
            let is_point = neighbours.first().is_some_and(|&first| {
                let part = self.part(first, |number| edges[number].contains(&id));
                !neighbours.is_subset(&part)
            });
            points.insert(id, i64::from(is_point));
            let parent = numbers[0] as u64;
            let is_pair = |number: usize| edges[number] == [id, parent] || edges[number] == [parent, id];
            let copies: Vec<usize> = (0..edges.len()).filter(|&number| is_pair(number)).collect();
            let left_out = |number: usize| if multigraph { copies.first() == Some(&number) } else { is_pair(number) };
            let is_bridge = parent != id && !self.part(id, left_out).contains(&parent);
            bridges.insert(id, i64::from(is_bridge));
        }
        has(found, "articulation_points", points.values().sum::<i64>())?;
        has(found, "bridges", bridges.values().sum::<i64>())?;
        is("dfs/articulation", columns, "-1", &text(points))?;
        is("dfs/bridge", columns, "-1", &text(bridges))
    }

    fn components(
        &self,
        source: Option<u64>,
        kept: bool,
        found: &Value,
        columns: &mut BTreeMap<String, Column>,
    ) -> Result<(), String> {
        let reach = |from: u64| {
            let (mut all, mut more) = (BTreeSet::from([from]), vec![from]);
            while let Some(at) = more.pop() {
                more.extend(self.seen.row(at).into_iter().filter(|&v| all.insert(v)));
            }
            all
        };
        let reached: BTreeMap<u64, BTreeSet<u64>> = self.numbers.keys().map(|&id| (id, reach(id))).collect();
        let first = |id: u64| {
            let both = reached[&id].iter().filter(|other| reached[other].contains(&id));
            both.min_by_key(|other| self.numbers[other][1]).copied().expect("itself")
        };
        let known: BTreeMap<u64, i64> = self.numbers.keys().map(|&id| (id, first(id) as i64)).collect();
        let mut sizes: BTreeMap<i64, u64> = BTreeMap::new();
        known.values().for_each(|name| *sizes.entry(*name).or_default() += 1);
        has(found, "components", sizes.len())?;
        has(found, "largest_component", sizes.values().copied().max().unwrap_or(0))?;
        is("dfs/component", columns, "-1", &text(known))?;
        let loops: BTreeSet<u64> = self.seen.graph.edges.iter().filter(|[u, v]| u == v).map(|&[u, _]| u).collect();
        let of_reached = loops.iter().find(|id| source.is_none() || self.numbers.contains_key(id));
        let cycle = columns.remove("dfs/cycle");
        let order = columns.remove("dfs/topological");
        let list: Vec<u64> =
            cycle.iter().flat_map(|cycle| cycle.values()).map(|id| id.parse::<i64>().expect("an id") as u64).collect();
        let told: Vec<Value> = list.iter().take(1000).map(|&id| id.into()).collect();
        has(found, "cycle", told)?;
        if sizes.len() < self.numbers.len() {
            has(found, "cycle_length", list.len())?;
            let distinct = list.iter().collect::<BTreeSet<_>>().len() == list.len();
            let leads = |at: usize| self.seen.lightest.contains_key(&[list[at], list[(at + 1) % list.len()]]);
            let is_cycle = list.len() > 1 && distinct && (0..list.len()).all(leads);
            return if is_cycle && order.is_none() { Ok(()) } else { Err(format!("{list:?} is no cycle")) };
        }
        // A graph that was kept knows the smallest loop.
        let unknown =
            kept && of_reached != loops.first() && self.seen.graph.edges.iter().filter(|[u, v]| u == v).count() > 1;
        match of_reached {
            _ if unknown => {
                has(found, "cycle_length", Value::Null)?;
                if list.is_empty() && order.is_none() { Ok(()) } else { Err("an order that is not known".into()) }
            }
            Some(&id) => {
                has(found, "cycle_length", 1)?;
                if list == [id] && order.is_none() { Ok(()) } else { Err(format!("{list:?} is not the loop at {id}")) }
            }
            None => {
                has(found, "cycle_length", 0)?;
                let order = order.ok_or("no topological order")?;
                let place = |id: &u64| order[id].parse::<i64>().expect("a place");
                let places: BTreeSet<i64> = self.numbers.keys().map(place).collect();
                let others =
                    order.iter().filter(|(id, _)| !self.numbers.contains_key(id)).all(|(_, place)| place == "-1");
                let forward = |[u, v]: &Edge| !self.numbers.contains_key(u) || place(u) < place(v);
                let is_order =
                    places == (0..self.numbers.len() as i64).collect() && self.seen.lightest.keys().all(forward);
                if is_order && others && cycle.is_none() { Ok(()) } else { Err(format!("{order:?} is no order")) }
            }
        }
    }
}

/// The ids of rows: those that occur, or all up to the last or to the declared number.
pub fn rows(graph: &Graph, sparse: bool) -> BTreeSet<u64> {
    if sparse {
        return graph.edges.iter().flatten().copied().collect();
    }
    let last = graph.edges.iter().flatten().max().map_or(0, |id| id + 1);
    (0..graph.declared.unwrap_or(last)).collect()
}
