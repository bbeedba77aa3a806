//! Runs one trial of a depth-first search. MPI rank 0 searches, checks the result, and writes the columns.

use super::Dfs;
use super::derived::articulation::Articulation;
use super::derived::cycle::{Cycle, ReachedVertices};
use super::derived::strong::Strong;
use super::output::{ArticulationPoints, DfsDetails, DfsOutput, StrongComponents};
use super::pairs::{PairCounts, lists_both_ends};
use super::record::{DfsTree, NONE};
use super::rows::SearchRows;
use super::saved::{self, DfsCounters, UNITS};
use super::validate::validate;
use super::walk::DfsWalk;
use crate::algo::{Algorithm, Run, Trial, TrialOf, sources};
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::bins::Bins;
use crate::graph::ids::{InputId, Vertex};
use crate::prepare::input_ids::{self, InputIds};
use crate::prepare::order;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use std::time::Instant;

/// Approximate number of vertices that the search reaches or finishes between two cancellation checks.
const STEPS: u32 = 1 << 14;

/// Runs one trial of a depth-first search on MPI rank 0. The other ranks wait, but help if the input must be read
/// again. Collective.
///
/// # Errors
/// [`Error::Input`] if the source does not exist; [`Error::Validation`] if the tree is wrong; [`Error::Limit`], disk
/// errors, [`Error::Stopped`].
pub(super) fn search(table: &Dfs, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Dfs>> {
    let comm = run.comm;
    let mut found = if comm.is_leader() { Some(DfsSearch::new(table, graph, run)?) } else { None };
    let needs_input = on_leader(comm, || Ok(found.as_ref().is_some_and(|found| found.needs_input(run))))?;
    if needs_input {
        let started = Instant::now();
        let pairs = PairCounts::count(graph, run, |partners| {
            found.iter().for_each(|found| found.pairs(partners));
            Ok(())
        })?;
        if let Some(found) = &mut found {
            found.apply_counts(&pairs);
            found.seconds += started.elapsed().as_secs_f64();
        }
    }
    on_leader(comm, || match found {
        Some(found) => found.finish(run),
        None => Err(Error::internal("search depth-first", "rank 0 did not")),
    })
}

/// The results of a depth-first search, which only MPI rank 0 has.
struct DfsSearch<'a> {
    table: &'a Dfs,
    graph: &'a Graph,
    ids: InputIds,
    tree: DfsTree,
    /// The source, if its only edges are self-loops or it has no edges. Then the search reaches only the source, and no
    /// vertex in `tree`.
    own: Option<InputId>,
    trees: u64,
    articulation: Option<Articulation>,
    strong: Option<(Strong, Cycle)>,
    seconds: f64,
}

impl<'a> DfsSearch<'a> {
    /// Searches, checks the tree, and computes all other results that the options request.
    fn new(table: &'a Dfs, graph: &'a Graph, run: &mut Run<'_>) -> Result<DfsSearch<'a>> {
        if let Some(why) = table.refuses(graph.info.direction) {
            return Err(Error::Usage(why.into()));
        }
        if table.multigraph {
            // Refuse inputs in which only some files list edges from both ends before the search, so that no time is
            // lost.
            run.input.map(|open| lists_both_ends(&open()?, &graph.info)).transpose()?;
        }
        let (threads, budget) = (run.threads, run.budget);
        let source = match table.source {
            Some(source) => sources::vertices(&[source], "source", graph)?.first().copied().flatten(),
            None => None,
        };
        let source = source.map(|Vertex(vertex)| vertex);
        let own = table.source.filter(|_| source.is_none());
        let mut rows = SearchRows::new(graph)?;
        let vertices = graph.info.connected as u32;
        let (tree, counters) = if own.is_some() {
            run.progress.advance(UNITS);
            (DfsTree::new(vertices as usize, budget)?, DfsCounters { trees: 1, ..DfsCounters::default() })
        } else {
            let runs = order::read_runs(&graph.folder, graph.info.content)?;
            let leaves = runs.iter().find(|&(degree, ..)| degree == 1).map_or(vertices, |(_, first, _)| first as u32);
            let mut walk = DfsWalk::new(vertices as usize, leaves, budget)?;
            rows.reserve_copies(budget)?;
            let counters = search_all(&mut walk, &mut rows, source, run)?;
            (walk.into_tree(), counters)
        };
        rows.drop_copies();
        if table.validate && own.is_none() {
            let found = validate(&tree, &rows, source, threads, budget)?;
            let name = |v: u32| input_ids::name(graph, v).unwrap_or_else(|_| format!("{v} in the order of vertices"));
            let trees = found.map_err(|fault| fault.error(&name))?;
            if trees != counters.trees {
                return Err(Error::Validation(format!("{} trees by the search, {trees} by parents", counters.trees)));
            }
        }
        let started = Instant::now();
        let articulation = table.articulation.then(|| Articulation::new(&tree, &rows, threads, budget)).transpose()?;
        let strong = table.components.map(|_| Strong::new(&tree, &rows, budget)).transpose()?;
        let ids = InputIds::open(graph, budget)?;
        let reached = ReachedVertices { tree: &tree, own, all: table.source.is_none() };
        let with_cycle = |strong: Strong| {
            let cycle = Cycle::new(&strong, reached, graph, &ids, budget)?;
            Ok((strong, cycle))
        };
        let strong = strong.map(with_cycle).transpose()?;
        let (trees, seconds) = (counters.trees.into(), counters.seconds + started.elapsed().as_secs_f64());
        Ok(DfsSearch { table, graph, ids, tree, own, trees, articulation, strong, seconds })
    }

    /// Returns true if the input must be read again, either to find bridges that it repeats, or to find self-loops of
    /// reached vertices. Adjacency rows contain neither repeated edges nor self-loops.
    fn needs_input(&self, run: &Run<'_>) -> bool {
        let bridges = self.articulation.as_ref().is_some_and(|of| self.table.multigraph && of.bridges > 0);
        let loops = self.strong.as_ref().is_some_and(|(_, cycle)| matches!(cycle, Cycle::Unknown));
        bridges || (loops && run.input.is_some())
    }

    /// Writes the pairs of vertices that [`PairCounts::count`] must look for in the input. `partners[id]` becomes 1
    /// plus the dense id of the partner of the vertex with dense id `id`, or stays 0 if it has none.
    fn pairs(&self, partners: &mut [u32]) {
        let DfsSearch { tree, ids, .. } = self;
        match &self.articulation {
            Some(of) => {
                for v in (0..tree.vertices()).filter(|&v| of.is_bridge(v)) {
                    partners[ids.dense(Vertex(v)).index()] = ids.dense(Vertex(tree.parent(v))).0 + 1;
                }
            }
            None => ReachedVertices { tree, own: self.own, all: self.table.source.is_none() }.as_pairs(ids, partners),
        }
    }

    /// Applies what reading the input again has shown: bridges that the input repeats are bridges no more, and a
    /// self-loop, if there is one, is the cycle.
    fn apply_counts(&mut self, pairs: &PairCounts) {
        if let Some(of) = &mut self.articulation {
            let repeats = |v: &u32| pairs.repeats(self.ids.dense(Vertex(*v)));
            (0..self.tree.vertices()).filter(repeats).for_each(|v| of.is_repeated(v));
        }
        if let Some((_, cycle)) = &mut self.strong {
            *cycle = Cycle::by_loops(pairs, self.graph, &self.ids);
        }
    }

    /// Writes the columns if this is the last trial, and returns the result of the trial.
    fn finish(self, run: &mut Run<'_>) -> Result<TrialOf<Dfs>> {
        if run.is_last {
            self.write(run)?;
        }
        let DfsSearch { table, tree, own, articulation, strong, .. } = &self;
        let (mut depths, mut max_depth) = (Bins::default(), 0);
        for depth in (0..tree.vertices()).map(|v| tree.depth(v)).filter(|&depth| depth != NONE) {
            depths.add(depth, 1);
            max_depth = max_depth.max(depth);
        }
        let articulation = articulation.as_ref().map(|of| ArticulationPoints {
            articulation_points: of.points,
            bridges: of.bridges,
            multigraph: table.multigraph,
        });
        let alone = u64::from(own.is_some());
        let strong = strong.as_ref().map(|(of, cycle)| StrongComponents {
            components: of.components + alone,
            largest_component: of.largest.max(alone),
            cycle_length: cycle.length(),
            cycle: cycle.first_vertices(&self.ids),
        });
        let output = DfsOutput {
            source: table.source,
            trees: self.trees,
            reached: u64::from(tree.reached) + alone,
            max_depth: max_depth.into(),
            validated: table.validate,
            articulation,
            strong,
        };
        let details = DfsDetails { depths: own.is_none().then(|| depths.finish()) };
        Ok(Trial { output, details, seconds: self.seconds })
    }

    /// Writes the columns with a value per vertex, and the column with the vertices of the cycle.
    fn write(&self, run: &mut Run<'_>) -> Result<()> {
        let DfsSearch { tree, own, ids, .. } = self;
        let number = |number: u32| if number == NONE { -1 } else { i64::from(number) };
        let id = |v: u32| if v == NONE { -1 } else { ids.number(Vertex(v)) as i64 };
        let mut put = |name: &str, own: Option<(InputId, i64)>, of: &(dyn Fn(u32) -> i64 + Sync)| {
            run.columns.put_with_own(name, -1, own, |v| of(v.0))
        };
        let itself = own.map(|own| (own, ids.number_of(own) as i64));
        let zero = own.map(|own| (own, 0));
        put("parent", itself, &|v| id(tree.parent(v)))?;
        put("preorder", zero, &|v| number(tree.pre(v)))?;
        put("postorder", zero, &|v| number(tree.post(v)))?;
        put("depth", zero, &|v| number(tree.depth(v)))?;
        let mark = |v: u32, mark: bool| if tree.pre(v) == NONE { -1 } else { i64::from(mark) };
        if let Some(of) = &self.articulation {
            put("articulation", zero, &|v| mark(v, of.is_point(v)))?;
            put("bridge", zero, &|v| mark(v, of.is_bridge(v)))?;
        }
        let Some((strong, cycle)) = &self.strong else { return Ok(()) };
        put("component", itself, &|v| id(strong.of(v)))?;
        match cycle.length() {
            None => Ok(()),
            Some(0) => {
                // If there is no cycle, the search finishes the target of every edge before its source. So the reverse
                // of the postorder is a topological order.
                let place = |post: u32| if post == NONE { -1 } else { i64::from(tree.left - 1 - post) };
                put("topological", zero, &|v| place(tree.post(v)))
            }
            Some(length) => run.columns.put_list("cycle", length, |place| cycle.number(place, ids) as i64),
        }
    }
}

/// Searches from `source` or, if `source` is `None`, all vertices. Resumes from the checkpoint of an earlier run, if
/// there is one. Saves checkpoints from time to time, and when a POSIX signal stops the run.
fn search_all(
    walk: &mut DfsWalk,
    rows: &mut SearchRows<'_>,
    source: Option<u32>,
    run: &Run<'_>,
) -> Result<DfsCounters> {
    let mut checkpoint = run.units.checkpoint();
    let (mut counters, is_new) = match checkpoint.load()? {
        Some(saved) => (saved::load(&saved, walk)?, false),
        None => (DfsCounters::default(), true),
    };
    run.progress.resume_at(saved::done(walk));
    let before = counters.seconds;
    let started = Instant::now();
    let vertices = walk.tree.vertices();
    if let Some(source) = source.filter(|_| is_new) {
        walk.begin(rows, source);
        counters = DfsCounters { next_root: vertices, trees: 1, ..counters };
    }
    let (mut reported, mut checked_at) = (saved::done(walk), walk.tree.reached);
    loop {
        let copied = walk.copy_rows(rows);
        if copied.is_ok() && walk.advance(rows, STEPS) {
            while counters.next_root < vertices && walk.is_seen(counters.next_root) {
                counters.next_root += 1;
            }
            if counters.next_root == vertices {
                break;
            }
            walk.begin(rows, counters.next_root);
            counters.trees += 1;
            if walk.tree.reached - checked_at < STEPS {
                continue;
            }
        }
        checked_at = walk.tree.reached;
        counters.seconds = before + started.elapsed().as_secs_f64();
        let now = saved::done(walk);
        run.progress.advance(now - reported);
        reported = now;
        failpoint::hit("dfs.step").map_err(|e| Error::io("search", run.units.folder, e))?;
        let stop = copied.and(signals::check());
        if stop.is_err() || checkpoint.is_due() {
            saved::save(&mut checkpoint, walk, counters)?;
        }
        stop?;
    }
    counters.seconds = before + started.elapsed().as_secs_f64();
    run.progress.advance(UNITS - reported);
    if checkpoint.is_worth_it() {
        saved::save(&mut checkpoint, walk, counters)?;
    }
    Ok(counters)
}
