//! One trial: the search by rank 0, its checks, and its columns.

use super::articulation::Articulation;
use super::record::{NONE, Tree};
use super::rows::Rows;
use super::saved::{self, Counters, UNITS};
use super::strong::Strong;
use super::task::{ArticulationFound, Found, StrongFound, Table};
use super::validate::validate;
use super::walk::{Memory, Walk};
use crate::algo::{GraphTask, Outcome, Run, sources};
use crate::comm::agreed;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::bins::Bins;
use crate::graph::ids::{InputId, Vertex};
use crate::prepare::input_ids::{self, InputIds};
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use serde_json::{Value, json};
use std::time::Instant;

/// Most vertices of a cycle that are told.
pub(super) const TOLD: usize = 1000;
/// Vertices that are reached between two looks at signals.
const STEPS: u32 = 1 << 14;

/// Runs one trial. Collective: ranks but the first wait.
///
/// # Errors
/// [`Error::Input`] for a source that is not there, [`Error::Validation`] for a tree that is wrong, [`Error::Limit`], those of the disk, a stop.
pub(super) fn search(table: &Table, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
    let comm = run.comm;
    agreed(comm, || on_rank_0(table, graph, run))
}

fn on_rank_0(table: &Table, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
    if let Some(why) = table.refuses(graph.info.direction) {
        return Err(Error::Usage(why.into()));
    }
    let source = match table.source {
        Some(source) => {
            let of = sources::vertices(&[source], "source", graph)?;
            match of.first().copied().flatten() {
                Some(Vertex(vertex)) => Some(vertex),
                None => return alone(table, graph, run),
            }
        }
        None => None,
    };
    let mut rows = Rows::new(graph)?;
    let runs = order::read_runs(&graph.folder, graph.info.content)?;
    let vertices = graph.info.connected as u32;
    let leaves = runs.iter().find(|&(degree, ..)| degree == 1).map_or(vertices, |(_, first, _)| first as u32);
    let memory = Memory::new(vertices as usize, run.budget)?;
    rows.copy_last(graph, run.budget)?;
    let mut walk = Walk::new(&rows, memory, leaves);
    let counters = walk_all(&mut walk, source, run)?;
    let tree = walk.into_tree();
    rows.drop_copies();
    if table.validate {
        let found = validate(&tree, &rows, source, run.threads, run.budget)?;
        let name = |v: u32| input_ids::name(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"));
        let trees = found.map_err(|fault| fault.error(&name))?;
        if trees != counters.trees {
            return Err(Error::Validation(format!("{} trees by the search, {trees} by parents", counters.trees)));
        }
    }
    let started = Instant::now();
    let tree = &tree;
    let articulation =
        table.articulation.then(|| Articulation::new(tree, &rows, run.threads, run.budget)).transpose()?;
    let strong = table.components.map(|_| Strong::new(tree, &rows, run.budget)).transpose()?;
    let after = started.elapsed().as_secs_f64();
    let ids = InputIds::open(graph, run.budget)?;
    if run.is_last {
        let parts = Parts { tree, articulation: articulation.as_ref(), strong: strong.as_ref() };
        parts.write(None, &ids, run)?;
    }
    let (mut depths, mut max_depth) = (Bins::default(), 0);
    for depth in (0..vertices).map(|v| tree.depth(v)).filter(|&depth| depth != NONE) {
        depths.add(depth, 1);
        max_depth = max_depth.max(depth);
    }
    let found = Found {
        source: table.source,
        trees: counters.trees.into(),
        reached: tree.reached.into(),
        max_depth: max_depth.into(),
        validated: table.validate,
        articulation: articulation.map(|of| ArticulationFound { articulation_points: of.points, bridges: of.bridges }),
        strong: strong.map(|of| StrongFound {
            components: of.components,
            largest_component: of.largest,
            cycle: of.cycle(tree).into_iter().take(TOLD).map(|v| ids.of(Vertex(v))).collect(),
        }),
    };
    Ok(Outcome { found: json!(found), how: json!({ "depths": depths.finish() }), seconds: counters.seconds + after })
}

/// Searches, or goes on with what an earlier run left; what was done lasts every now and then, and when a signal stops the run.
fn walk_all(walk: &mut Walk<'_>, source: Option<u32>, run: &Run<'_>) -> Result<Counters> {
    let mut checkpoint = run.units.checkpoint();
    let (mut counters, is_new) = match checkpoint.load()? {
        Some(saved) => (saved::load(&saved, walk)?, false),
        None => (Counters::default(), true),
    };
    run.progress.resume_at(saved::done(walk));
    let before = counters.seconds;
    let started = Instant::now();
    let vertices = walk.tree.vertices();
    if let Some(source) = source.filter(|_| is_new) {
        walk.begin(source);
        counters = Counters { next_root: vertices, trees: 1, ..counters };
    }
    let (mut told, mut looked) = (saved::done(walk), walk.tree.reached);
    loop {
        if walk.go(STEPS) {
            while counters.next_root < vertices && walk.is_seen(counters.next_root) {
                counters.next_root += 1;
            }
            if counters.next_root == vertices {
                break;
            }
            walk.begin(counters.next_root);
            counters.trees += 1;
            if walk.tree.reached - looked < STEPS {
                continue;
            }
        }
        looked = walk.tree.reached;
        counters.seconds = before + started.elapsed().as_secs_f64();
        let now = saved::done(walk);
        run.progress.advance(now - told);
        told = now;
        failpoint::hit("dfs.step").map_err(|e| Error::io("search", run.units.folder, e))?;
        let stop = signals::check();
        if stop.is_err() || checkpoint.is_due() {
            saved::save(&mut checkpoint, walk, counters)?;
        }
        stop?;
    }
    counters.seconds = before + started.elapsed().as_secs_f64();
    run.progress.advance(UNITS - told);
    if checkpoint.is_worth_it() {
        saved::save(&mut checkpoint, walk, counters)?;
    }
    Ok(counters)
}

/// All that was found of vertices.
struct Parts<'a> {
    tree: &'a Tree,
    articulation: Option<&'a Articulation>,
    strong: Option<&'a Strong>,
}

impl Parts<'_> {
    /// Writes the columns of all vertices. `own` is a source without an edge.
    fn write(&self, own: Option<InputId>, ids: &InputIds, run: &mut Run<'_>) -> Result<()> {
        let tree = self.tree;
        let number = |number: u32| if number == NONE { -1 } else { i64::from(number) };
        let id = |v: u32| if v == NONE { -1 } else { ids.of(Vertex(v)).0 as i64 };
        let mut put = |name: &str, own: Option<(InputId, i64)>, of: &dyn Fn(u32) -> i64| {
            run.columns.put_with_own(name, -1, own, |v| of(v.0))
        };
        let itself = own.map(|own| (own, own.0 as i64));
        let zero = own.map(|own| (own, 0));
        put("parent", itself, &|v| id(tree.parent(v)))?;
        put("preorder", zero, &|v| number(tree.pre(v)))?;
        put("postorder", zero, &|v| number(tree.post(v)))?;
        put("depth", zero, &|v| number(tree.depth(v)))?;
        let mark = |v: u32, mark: bool| if tree.pre(v) == NONE { -1 } else { i64::from(mark) };
        if let Some(of) = self.articulation {
            put("articulation", zero, &|v| mark(v, of.is_point(v)))?;
            put("bridge", zero, &|v| mark(v, of.is_bridge(v)))?;
        }
        let Some(strong) = self.strong else { return Ok(()) };
        put("component", itself, &|v| id(strong.of(v)))?;
        if !strong.is_acyclic() {
            return Ok(());
        }
        // Whoever is left later leads to whoever is left earlier.
        let place = |post: u32| if post == NONE { -1 } else { i64::from(tree.left - 1 - post) };
        put("topological", zero, &|v| place(tree.post(v)))
    }
}

/// Returns the outcome of a source without an edge, which reaches itself alone.
fn alone(table: &Table, graph: &Graph, run: &mut Run<'_>) -> Result<Outcome> {
    if run.is_last {
        let budget = run.budget;
        let vertices = graph.info.connected as usize;
        let (tree, rows) = (Tree::new(vertices, budget)?, Rows::new(graph)?);
        let articulation =
            table.articulation.then(|| Articulation::new(&tree, &rows, run.threads, budget)).transpose()?;
        let strong = table.components.map(|_| Strong::new(&tree, &rows, budget)).transpose()?;
        let parts = Parts { tree: &tree, articulation: articulation.as_ref(), strong: strong.as_ref() };
        parts.write(table.source, &InputIds::open(graph, budget)?, run)?;
    }
    run.progress.advance(UNITS);
    let (source, validated) = (table.source, table.validate);
    let articulation = table.articulation.then_some(ArticulationFound { articulation_points: 0, bridges: 0 });
    let strong = table.components.map(|_| StrongFound { components: 1, largest_component: 1, cycle: Vec::new() });
    let found = Found { source, trees: 1, reached: 1, max_depth: 0, validated, articulation, strong };
    Ok(Outcome { found: json!(found), how: Value::Null, seconds: 0.0 })
}
