//! An algorithm for tests: it uses everything that a job provides, and one line of Python can compute its results from
//! the edges.
//!
//! The result `total` is the sum of `d(u)·d(v)` over all edges (the second Zagreb index), where `d` is the degree. A
//! unit of work is a block of rows. Options change the result:
//!
//! - `columns = true`: a column of each type contains the sum of the neighbours' degrees of every vertex. Every source
//!   has a folder with a column that marks its neighbours.
//! - `direction = true`, if the input is directed: `total` is the sum of `out(u)·in(v)` over all edges from `u` to `v`,
//!   and every vertex has two sums.
//! - `upper = true`: edges come from the upper half of rows. A unit reads the rows that belong to one block of the
//!   lower half.
//! - `weights`: every product is multiplied by the weight of its edge (an integer, or the bit pattern of an f32),
//!   modulo 2^64. With `upper = true` in addition, edges of both halves are added up, those of the lower half twice.
//!
//! Without columns, the results of units are stored in a journal, with one number per row of the block. With columns
//! they are stored in a checkpoint.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | options, costs, and a trial that resumes from a journal or a checkpoint |
//! | `unit` | the sums of one unit |
//! | `check` | the same sums from the edges of the input, for `verify` |

mod check;
mod unit;

use self::unit::{SumsUnit, WeightedEdges};
use super::sources::{SOURCES, Sources};
use super::{
    Algorithm, Answer, Cost, GraphSize, Needs, RankResources, Results, Run, StoredUnits, Trial, TrialOf, UnitsContent,
    Verdict, WeightSource,
};
use crate::algo::sources::NamedVertex;
use crate::comm::on_leader;
use crate::error::{Error, Result};
use crate::failpoint;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::Vertex;
use crate::jobfile::{AnyKey, Diagnostics, Key, Section};
use crate::memory::{bytes_of, numbers_of};
use crate::prepare::input_ids::InputIds;
use crate::prepare::prepared::Graph;
use crate::process::signals;
use crate::store::checkpoint::Checkpoint;
use crate::store::journal::Record;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Instant;

/// Options of the table `[sums]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    columns: bool,
    #[serde(default)]
    upper: bool,
    #[serde(default)]
    direction: bool,
    sources: Sources,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<WeightSource>,
}

const COLUMNS: Key<bool> = Key::flag("columns", "writes columns of every type");
const UPPER: Key<bool> = Key::flag("upper", "takes edges from the upper half of rows");
const DIRECTION: Key<bool> = Key::flag("direction", "sums by the direction of edges");
const WEIGHTS: Key<Option<WeightSource>> = Key::new(
    "weights",
    ("as of [sssp]", "none"),
    "multiplies every product by the weight of its edge",
    || None,
    |field, diagnostics| WeightSource::parse(field, diagnostics).map(Some),
);

/// Sums of all units of work that are finished so far. Only rank 0 has them.
#[derive(Default)]
struct SumsProgress {
    total: u64,
    entries: u64,
    /// Time of all finished units of work in nanoseconds, including units of earlier runs.
    nanos: u64,
    done: HashSet<u64>,
    at_rows: Vec<u64>,
}

impl SumsProgress {
    fn add(&mut self, unit: &SumsUnit) {
        self.total = self.total.wrapping_add(unit.total);
        self.entries += unit.lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        self.nanos += unit.nanos;
        self.done.insert(unit.number);
        if !self.at_rows.is_empty() {
            for &(row, sum) in &unit.at_rows {
                let of_row = &mut self.at_rows[row as usize];
                *of_row = of_row.wrapping_add(sum);
            }
        }
    }
}

impl Sums {
    /// Computes the missing units of work in rounds. In a round, each rank computes one unit. After each round, rank 0
    /// calls `keep` to save the new units.
    fn units(
        &self,
        graph: &Graph,
        run: &Run<'_>,
        progress: &mut SumsProgress,
        mut keep: impl FnMut(&[SumsUnit], &SumsProgress) -> Result<()>,
    ) -> Result<()> {
        let comm = run.comm;
        let done = on_leader(comm, || Ok(progress.done.clone()))?;
        run.progress.resume_at(done.len() as u64);
        let file = graph.degrees()?;
        let ids = match self.weights {
            Some(WeightSource::Drawn(_)) => Some(InputIds::open(graph, run.budget)?),
            _ => None,
        };
        let source =
            WeightedEdges { graph, degrees: file.body_as_u32()?, upper: self.upper, weights: self.weights, ids };
        let missing: Vec<u64> = (0..graph.block_store.len() as u64).filter(|unit| !done.contains(unit)).collect();
        for round in missing.chunks(comm.ranks()) {
            let started = Instant::now();
            let mine = round.get(comm.rank()).map(|&number| source.unit(number));
            let mine = mine.transpose()?.map(|unit| unit.words());
            let all = comm.all_gather(bytes_of(&mine.unwrap_or_default()));
            let mut units: Vec<SumsUnit> =
                all.iter().filter_map(|words| SumsUnit::read(&numbers_of::<u64>(words))).collect();
            if comm.is_leader() {
                // The time of a round is divided equally among its units.
                let nanos = started.elapsed().as_nanos() as u64 / round.len() as u64;
                for unit in &mut units {
                    unit.nanos = nanos;
                    progress.add(unit);
                }
                keep(&units, progress)?;
                failpoint::hit("sums.unit").map_err(|e| Error::io("add up a unit", run.units.folder, e))?;
            }
            run.progress.advance(units.len() as u64);
            signals::check()?;
        }
        Ok(())
    }

    fn journalled(&self, graph: &Graph, run: &Run<'_>, progress: &mut SumsProgress) -> Result<()> {
        if !run.comm.is_leader() {
            return self.units(graph, run, progress, |_, _| Ok(()));
        }
        let (mut journal, records) = run.units.journal()?;
        let of_record = |record: &Record| SumsUnit::read(&numbers_of::<u64>(&record.result));
        records.iter().filter_map(of_record).for_each(|unit| progress.add(&unit));
        self.units(graph, run, progress, |units, _| {
            let record = |unit: &SumsUnit| {
                let unit = SumsUnit { at_rows: Vec::new(), lengths: unit.lengths.clone(), ..*unit };
                Record::of_words(unit.number, &unit.words())
            };
            journal.append(&units.iter().map(record).collect::<Vec<_>>())
        })?;
        journal.sync()
    }

    fn checkpointed(&self, graph: &Graph, run: &mut Run<'_>, progress: &mut SumsProgress) -> Result<()> {
        let rows = graph.block_store.layout.rows();
        let _reserved = run.budget.reserve(8 * rows, "sums of all rows (8 bytes each)")?;
        progress.at_rows = vec![0; rows as usize];
        let (mut checkpoint, leads) = (run.units.checkpoint(), run.comm.is_leader());
        if leads && let Some(saved) = checkpoint.load()? {
            match (saved.words(0)?, saved.words(1)?, saved.words(2)?) {
                (&[total, entries, nanos], done, sums) if sums.len() == progress.at_rows.len() => {
                    (progress.total, progress.entries, progress.nanos) = (total, entries, nanos);
                    progress.done = done.iter().copied().collect();
                    progress.at_rows.copy_from_slice(sums);
                }
                _ => return Err(saved.other("not sums of this graph")),
            }
        }
        let total = graph.block_store.len() as u64;
        let save = |checkpoint: &mut Checkpoint, progress: &SumsProgress| {
            let done: Vec<u64> = progress.done.iter().copied().collect();
            let head = [progress.total, progress.entries, progress.nanos];
            let sections = [bytes_of(&head), bytes_of(&done), bytes_of(&progress.at_rows)];
            checkpoint.save(done.len() as u64, total, &sections)
        };
        // A checkpoint is saved from time to time, when the job stops, and before columns are written if a kill would
        // lose much work.
        let done = self.units(graph, run, progress, |_, progress| {
            if checkpoint.is_due() { save(&mut checkpoint, progress) } else { Ok(()) }
        });
        if leads && (matches!(done, Err(Error::Stopped(_))) || done.is_ok() && checkpoint.is_worth_it()) {
            save(&mut checkpoint, progress)?;
        }
        done?;
        on_leader(run.comm, || if run.is_last { self.write(graph, run, &progress.at_rows) } else { Ok(()) })
    }

    fn write(&self, graph: &Graph, run: &mut Run<'_>, sums: &[u64]) -> Result<()> {
        let file = graph.degrees()?;
        let degrees = file.body_as_u32()?;
        let of = |v: Vertex| sums[v.index()];
        let columns = &mut run.columns;
        let direction = graph.info.direction;
        if direction == Direction::Directed {
            let row = |v: Vertex, way| direction.row(v.0, way) as usize;
            columns.put("out_u64", 0u64, |v| sums[row(v, EdgeDirection::Out)])?;
            return columns.put("in_u64", 0u64, |v| sums[row(v, EdgeDirection::In)]);
        }
        columns.put("degree_u32", 0u32, |v| degrees[v.index()])?;
        columns.put("degree_i32", -1i32, |v| degrees[v.index()] as i32)?;
        columns.put("sum_u64", 0u64, of)?;
        columns.put("sum_i64", -1i64, |v| of(v) as i64)?;
        columns.put("mean_f32", f32::INFINITY, |v| of(v) as f32 / degrees[v.index()] as f32)?;
        columns.put("mean_f64", 0f64, |v| of(v) as f64 / f64::from(degrees[v.index()]))?;
        let sources = self.sources.vertices(graph)?;
        for (&id, source) in self.sources.0.iter().zip(sources) {
            let next = |v: Vertex| {
                let of_block = |b: usize| {
                    let block = graph.block_store.block(b);
                    let row = |u: u32| u.checked_sub(block.first_row).filter(|&row| (row as usize) < block.rows());
                    let lists = |u: u32, w: u32| row(u).is_some_and(|row| block.row(row as usize).contains(&w));
                    source.is_some_and(|Vertex(source)| lists(v.0, source) || lists(source, v.0))
                };
                i32::from((0..graph.block_store.len()).any(of_block))
            };
            run.columns.put_of_source(id, "next", -1i32, None, next)?;
        }
        Ok(())
    }
}

/// Result of `[sums]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumsOutput {
    /// Sum of the products of degrees over all edges.
    total: u64,
}

impl Algorithm for Sums {
    const NAME: &'static str = "sums";
    const ABOUT: &'static str = "sums degrees, for tests";
    const KEYS: &'static [&'static dyn AnyKey] = &[&COLUMNS, &SOURCES, &UPPER, &DIRECTION, &WEIGHTS];

    type Input = Graph;
    type Output = SumsOutput;
    type Details = ();

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Sums> {
        let (columns, upper) = (COLUMNS.read(table, diagnostics), UPPER.read(table, diagnostics));
        let (direction, sources) = (DIRECTION.read(table, diagnostics), SOURCES.read(table, diagnostics));
        let weights = WEIGHTS.read(table, diagnostics);
        Some(Sums { columns: columns?, upper: upper?, direction: direction?, sources: sources?, weights: weights? })
    }

    fn named_vertices(&self) -> Vec<NamedVertex> {
        self.sources.named_vertices()
    }

    fn needs(&self) -> Needs {
        Needs {
            degrees: true,
            order: self.columns || matches!(self.weights, Some(WeightSource::Drawn(_))),
            upper: self.upper,
            direction: self.direction,
            weights: self.weights == Some(WeightSource::File),
            input: false,
        }
    }

    fn units(&self, blocks: u64) -> u64 {
        blocks
    }

    fn cost(&self, graph: &GraphSize<'_>, resources: &RankResources) -> Cost {
        let rows = graph.direction.rows(graph.vertices);
        let ids =
            if matches!(self.weights, Some(WeightSource::Drawn(_))) { InputIds::bytes(graph.vertices) } else { 0 };
        let host_memory = ids + if self.columns { 8 * rows } else { 0 };
        let columns = [4, 4, 8, 8, 4, 8]
            .map(|width| resources.format.row_bytes(width, 24) * graph.column_rows)
            .iter()
            .sum::<u64>();
        let next = self.sources.0.len() as u64 * resources.format.row_bytes(4, 3) * graph.column_rows;
        let trials = u64::from(resources.trials);
        let units = 64 * graph.blocks + 8 * rows + 4096;
        Cost {
            host_memory,
            least_host_memory: host_memory,
            disk: if self.columns { columns + next + 4096 * 8 } else { 0 } + units * (trials + 1),
            exchange: 16 * graph.edges * (resources.ranks as u64 - 1),
            seconds: f64::from(resources.trials) * graph.edges as f64 * 1e-8,
            label: "sums".into(),
            ..Cost::default()
        }
    }

    fn run(&self, graph: &Graph, run: &mut Run<'_>) -> Result<TrialOf<Sums>> {
        let mut progress = SumsProgress::default();
        match self.columns {
            true => self.checkpointed(graph, run, &mut progress)?,
            false => self.journalled(graph, run, &mut progress)?,
        }
        let (total, entries, nanos) = on_leader(run.comm, || Ok((progress.total, progress.entries, progress.nanos)))?;
        if entries != graph.stored.edges {
            return Err(Error::Validation(format!("{entries} entries of {} edges", graph.stored.edges)));
        }
        Ok(Trial { output: SumsOutput { total }, details: (), seconds: nanos as f64 / 1e9 })
    }

    fn verify(&self, results: &Results<'_>, (output, ()): (&SumsOutput, &()), verdict: &mut Verdict<'_>) -> Result<()> {
        match &results.edges {
            _ if self.weights.is_some() || results.info.direction == Direction::Directed => {
                verdict.skip("sums", "sums by weight or direction are not checked")
            }
            Ok(edges) => {
                let columns = self.columns && results.done;
                verdict.note("sums", check::compare(edges, results, columns, output.total))
            }
            Err(why) => verdict.skip("sums", format!("{why}; so the sums were not checked")),
        }
    }

    fn verify_units(&self, units: &StoredUnits<'_>, output: Option<&SumsOutput>) -> Result<String> {
        let (done, total) = match &units.content {
            UnitsContent::Records(records) => {
                let read = |record: &Record| SumsUnit::read(&numbers_of::<u64>(&record.result)).map(|unit| unit.total);
                let totals: Option<Vec<u64>> = records.iter().map(read).collect();
                let none = || Error::Validation(format!("{}: a record that is not a sum", units.path.display()));
                (records.len() as u64, totals.ok_or_else(none)?.into_iter().fold(0, u64::wrapping_add))
            }
            UnitsContent::Checkpoint(saved) => (saved.done(), saved.words(0)?.first().copied().unwrap_or(0)),
        };
        match output {
            Some(output) if done == units.total && output.total != total => {
                Err(Error::Validation(format!("{}: {total} in all, {output:?}", units.path.display())))
            }
            _ => Ok(format!("{done} units, {total} in all")),
        }
    }

    fn answer(&self, output: &SumsOutput, _: Option<&()>) -> Answer {
        Answer { main: format!("sums {}", output.total), more: "summed".into(), block: None }
    }

    fn sentences(_: &SumsOutput) -> Vec<String> {
        Vec::new()
    }
}
