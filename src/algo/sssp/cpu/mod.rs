//! Searches for shortest paths with the threads of one process, or of all ranks together.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | rows sorted by weight, which are created before the first search |
//! | `slices` | sorted rows in memory |
//! | `sort` | sorting of rows, in memory or, if memory is too small, in a file |
//! | `packing` | entries packed into as few bytes as possible |
//! | `disk` | rows in a file, whose first entries are also in memory |
//! | `near` | the choice of the entries that are also in memory |
//! | `arithmetic` | distances as integers and as floating-point numbers |
//! | `search`, `walk` | a search: its phases, and the state that threads share |
//! | `push` | pushing along the out-edges of vertices whose distances became smaller, bucket by bucket |
//! | `pull` | pulling along in-edges, when most distances become smaller in one round |
//! | `bins` | the buckets of a thread |
//! | `rounds` | rounds over the edges of all vertices: the baseline |
//! | `parents` | the parents of vertices, once distances are known |

pub(super) mod arithmetic;
pub(super) mod bins;
mod disk;
mod near;
mod packing;
mod parents;
mod pull;
mod push;
mod rounds;
mod rows;
mod search;
mod slices;
mod sort;
mod walk;

pub(super) use near::ExcessCounts;

use self::arithmetic::{Arithmetic, Decimal, Double, Long, Short, Wide, Width, WithParents};
use self::bins::DistanceBins;
use self::packing::EntryPacking;
use self::rows::SortedRows;
use self::sort::{RowFile, RowSorter};
use self::walk::PathWalk;
use super::distances::Distances;
use super::edges::WeightedEdges;
use super::options::{Method, Sssp};
use super::ranks::{NearerExchange, RankState};
use super::search::{Search, ShortestPathTree, SsspStats};
use super::weights::{EdgeWeights, WeightScale};
use crate::algo::searches::EngineInput;
use crate::algo::searches::ranks::VertexOwnership;
use crate::algo::team::of_cores;
use crate::algo::{Run, WeightSource};
use crate::error::{Error, Result};
use crate::failpoint;
use crate::formats::WeightType;
use crate::graph::direction::{Direction, EdgeDirection};
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer, Reservation, populate};
use crate::prepare::weight_list::WeightValues;
use parking_lot::Mutex;

/// Number of row entries in a graph below which one thread searches alone, because it finishes before other threads
/// could start.
const FEW: u64 = 1 << 12;
/// Memory, in bytes per vertex of the graph, for lists of vertices whose distance became smaller in a round. It is
/// enough for a round in which few distances become smaller.
const NEARER: u64 = 2;
/// Memory, in bytes per vertex, that is left free for buckets if adjacency rows are in a file. The remaining memory is
/// filled with the first entries of rows.
const BUCKETS: u64 = 4;
/// Maximum number of buckets. With more buckets, their indices would not fit in 64 bits.
const MOST_BUCKETS: f64 = (1u64 << 62) as f64;
/// Threshold for hubs: a vertex is a hub if its degree exceeds the mean degree by more than this factor.
const HUB: f64 = 32.0;

/// A graph that is prepared for searches by CPU threads.
pub struct CpuSearch<'a> {
    graph: SortedGraph,
    arrays: Box<dyn SearchArrays>,
    method: Method,
    /// State for searches together with other ranks; `None` in a single process.
    ranks: Option<RankState<'a>>,
}

/// A graph whose adjacency rows are sorted by weight.
pub struct SortedGraph {
    /// Rows of out-edges, or of all edges if the graph is undirected.
    out: SortedRows,
    /// Rows of in-edges; `None` if the graph is undirected.
    into: Option<SortedRows>,
    /// 64-bit weights, indexed by the codes that rows contain instead of weights. Empty for 32-bit weights.
    values: WeightValues,
    /// The largest weight, as a bit pattern: an integer, or the bits of an f32 or f64.
    heaviest: u64,
    /// Number of vertices.
    vertices: u32,
    /// Start of the vertices with a single edge, which come last in the order of vertices. No shortest path leads
    /// through such a vertex, so searches process them last. In a directed graph this is the number of vertices,
    /// because no vertex is processed in this way.
    tails: u32,
    /// The vertices that this rank owns: all vertices in a single process. The rows of other vertices are empty on this
    /// rank.
    own: VertexOwnership,
    /// Number of entries in all rows, including those of other ranks.
    entries: u64,
    /// Width of the buckets of distances.
    width: Width,
    /// Whether some vertices have far more edges than the mean degree.
    has_hubs: bool,
    /// Whether any rank has rows on a disk. The value is the same on all ranks, so that all ranks take the same steps.
    is_on_disk: bool,
}

impl SortedGraph {
    /// Returns the rows of in-edges, or of all edges if the graph is undirected.
    fn into(&self) -> &SortedRows {
        self.into.as_ref().unwrap_or(&self.out)
    }
}

/// Interface to the arrays of a search that does not depend on the type of distances.
trait SearchArrays {
    /// Searches from `root`, together with the other ranks, if any, and writes `distances` and `parents`. Collective:
    /// all ranks must call it.
    fn search(
        &self,
        graph: &SortedGraph,
        root: Vertex,
        method: Method,
        ranks: Option<(&mut NearerExchange, &WeightedEdges<'_>)>,
        distances: &mut Distances,
        parents: &mut [u32],
    ) -> Result<SsspStats>;
}

/// The arrays of a search with the arithmetic `A`: a cell for the distance of each vertex, and buckets.
struct ArraysOf<A: Arithmetic> {
    cells: Buffer<A::Cell>,
    /// The buckets of each thread.
    bins: Vec<Mutex<DistanceBins<A::Sum>>>,
    /// Memory reservation for lists of vertices whose distance became smaller in a round.
    _nearer: Reservation,
}

impl<A: Arithmetic> ArraysOf<A> {
    fn boxed(vertices: u32, threads: usize, budget: &Budget) -> Result<Box<dyn SearchArrays>> {
        let mut cells = budget.zeroed(vertices as usize, "distances while they are looked for")?;
        populate(&mut cells);
        let bins = (0..threads).map(|_| DistanceBins::new(vertices, budget).map(Mutex::new)).collect::<Result<_>>()?;
        let nearer = budget.reserve(NEARER * u64::from(vertices), "vertices that become nearer in a round")?;
        Ok(Box::new(ArraysOf::<A> { cells, bins, _nearer: nearer }))
    }
}

impl<A: Arithmetic> SearchArrays for ArraysOf<A> {
    fn search(
        &self,
        graph: &SortedGraph,
        root: Vertex,
        method: Method,
        ranks: Option<(&mut NearerExchange, &WeightedEdges<'_>)>,
        distances: &mut Distances,
        parents: &mut [u32],
    ) -> Result<SsspStats> {
        let walk = PathWalk::<A>::new(graph, &self.cells, root, method, &self.bins, ranks);
        let searched = search::run(walk, distances, parents)?;
        self.bins.iter().for_each(|bins| bins.lock().give_back());
        Ok(searched)
    }
}

/// Size of a graph's adjacency rows.
#[derive(Debug, Clone, Copy)]
pub struct RowsSize {
    /// Number of vertices.
    pub vertices: u64,
    /// Number of entries in all rows of one direction.
    pub entries: u64,
    /// Number of entries in the longest row.
    pub longest: u64,
    /// Upper bound on the weights, in their stored encoding.
    pub largest: u32,
    /// Direction of the edges.
    pub direction: Direction,
}

/// Returns the host memory, in bytes, for searches by `threads` threads, not counting distances and parents, as
/// `[maximum, minimum]`. Searches never use more than the maximum. With the minimum, the sorted rows are in a file.
pub fn bytes(size: &RowsSize, threads: usize) -> [u64; 2] {
    let RowsSize { vertices, entries, longest, largest, direction } = *size;
    sort::bytes(vertices, entries, longest, largest).map(|rows| (rows << direction.shift()) + others(vertices, threads))
}

/// Returns the host memory, in bytes, that searches need in addition to rows, distances and parents.
fn others(vertices: u64, threads: usize) -> u64 {
    (8 + NEARER) * vertices + threads as u64 * bins::bytes(vertices)
}

/// Returns the size, in bytes, of the files of sorted rows, for weights up to `largest`.
pub fn file_bytes(vertices: u64, entries: u64, largest: u32, direction: Direction) -> u64 {
    disk::bytes(EntryPacking::of(vertices, largest), entries) << direction.shift()
}

impl<'a> CpuSearch<'a> {
    /// Prepares a graph for searches with the weights and the method of `table`. Sorts the rows of the vertices that
    /// this rank owns by weight. Collective: all ranks must call it.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] if memory is too small for [`bytes()`]; errors of the graph and of the disk;
    /// communication errors; [`crate::Error::Stopped`].
    pub fn new(table: &Sssp, input: EngineInput<'a, '_>) -> Result<CpuSearch<'a>> {
        let EngineInput { graph, degrees, run, .. } = input;
        let (method, budget, comm) = (table.method, run.budget, run.comm);
        let own = VertexOwnership::blocks(graph.info.connected as usize, comm.rank(), comm.ranks());
        let mut exchange = (own.ranks > 1).then(|| NearerExchange::open(comm, own, budget)).transpose()?;
        let parents = if comm.is_leader() { 0 } else { own.vertices };
        let parents = budget.zeroed(parents, "the parents of vertices (4 bytes each)")?;
        let edges = WeightedEdges::new(graph, table.weights, budget)?;
        let (direction, vertices) = (edges.direction, graph.info.connected as u32);
        let (out, into) = sort_rows(&edges, table.weights, degrees, own, run)?;
        let kind = edges.weights.scale().kind;
        let values = match &edges.weights {
            EdgeWeights::Stored(_, values) => values.clone(),
            EdgeWeights::Drawn(..) => WeightValues::default(),
        };
        // A single process needs the edges only to sort them.
        let edges = exchange.is_some().then_some(edges);
        let scale = WeightScale { kind, values: values.bits() };
        if out.is_on_disk() {
            tracing::info!("rows sorted by weight are in a file: memory is too small for them");
            if own.ranks == 1 {
                run.units.remove_files()?;
            }
        }
        let is_tail = |v: &u32| direction == Direction::Undirected && degrees[*v as usize] == 1;
        let tails = vertices - (0..vertices).rev().take_while(is_tail).count() as u32;
        let (mut weights, mut is_on_disk) = (out.weights, out.is_on_disk());
        if let Some(NearerExchange { ranks, .. }) = &mut exchange {
            weights = weights.of_all(scale, ranks)?;
            is_on_disk = ranks.sum(is_on_disk.into())? > 0;
        }
        let entries = entries(degrees, direction);
        let degree = entries as f64 / f64::from(vertices.max(1));
        // Vertices are in the order of descending degree, so the first has the most edges.
        let longest = degrees.iter().take(1 << direction.shift()).max().copied().unwrap_or(0);
        let has_hubs = f64::from(longest) > HUB * degree;
        // No shortest path has more edges than the graph has vertices.
        let farthest = scale.number(weights.largest) * f64::from(vertices);
        let width = width(weights.sum / entries.max(1) as f64, degree, has_hubs, farthest);
        let is_short = u64::from(weights.largest).saturating_mul(vertices.into()) < u64::from(u32::MAX);
        let threads = if entries < FEW { 1 } else { of_cores(run.threads) };
        // Pulling, and the communication between ranks, update distances only, so cells cannot store parents there.
        let keeps_parents = own.ranks == 1 && !(has_hubs && method == Method::Auto);
        let arrays = match kind {
            WeightType::F32 if keeps_parents => ArraysOf::<WithParents<Decimal>>::boxed,
            WeightType::U32 if is_short && keeps_parents => ArraysOf::<WithParents<Short>>::boxed,
            WeightType::F32 => ArraysOf::<Decimal>::boxed,
            WeightType::U32 if is_short => ArraysOf::<Short>::boxed,
            WeightType::U32 => ArraysOf::<Long>::boxed,
            WeightType::U64 => ArraysOf::<Wide>::boxed,
            WeightType::F64 => ArraysOf::<Double>::boxed,
        };
        let arrays = arrays(vertices, threads, budget)?;
        let heaviest = scale.bits(weights.largest);
        let graph =
            SortedGraph { out, into, values, heaviest, vertices, tails, own, entries, width, has_hubs, is_on_disk };
        let ranks = exchange.zip(edges).map(|(exchange, edges)| RankState { exchange, edges, parents });
        Ok(CpuSearch { graph, arrays, method, ranks })
    }
}

/// Returns the number of entries in all adjacency rows of one direction. `degrees` contains the lengths of all rows.
fn entries(degrees: &[u32], direction: Direction) -> u64 {
    degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>() >> direction.shift()
}

/// Sorts the rows of the vertices that this rank owns by weight. Returns the rows of out-edges and, if the graph is
/// directed, the rows of in-edges. If memory is too small, the rows are written to files.
fn sort_rows(
    edges: &WeightedEdges<'_>,
    weights: WeightSource,
    degrees: &[u32],
    own: VertexOwnership,
    run: &Run<'_>,
) -> Result<(SortedRows, Option<SortedRows>)> {
    let Run { threads, budget, ref units, .. } = *run;
    let (direction, vertices, largest) = (edges.direction, own.vertices as u32, edges.largest());
    let length = |v: u32, way: EdgeDirection| if own.has(v) { degrees[direction.row(v, way) as usize] } else { 0 };
    let here = (0..vertices).map(|v| u64::from(length(v, EdgeDirection::Out))).sum();
    let size = RowsSize { vertices: vertices.into(), entries: here, longest: 0, largest, direction };
    let [in_memory, _] = bytes(&size, threads);
    let goes_to_file = in_memory > budget.free();
    // `later` is the memory, in bytes, to leave free for the rows of the other direction, or 0 if no direction
    // follows.
    let rows = |way: EdgeDirection, later: u64| {
        let spare = others(vertices.into(), threads) + BUCKETS * u64::from(vertices);
        // Random weights are computed from ids. The memory of the ids is freed after the last direction, unless ranks
        // need the ids in a search.
        let ids = if own.ranks == 1 { EdgeWeights::bytes(weights, vertices.into()) } else { 0 };
        let spare = if later > 0 { spare + later } else { spare.saturating_sub(ids) };
        let ways = if later > 0 { 2 } else { 1 };
        let file = goes_to_file.then_some(RowFile { units, rank: own.rank, spare, ways });
        RowSorter { edges, largest, way, budget }.rows((0..vertices).map(|v| length(v, way)), file)
    };
    match direction {
        Direction::Undirected => Ok((rows(EdgeDirection::Out, 0)?, None)),
        Direction::Directed => {
            // Leave enough memory for the rows of the other direction.
            let longest = degrees.iter().max().copied().unwrap_or(0);
            let [_, fewest] = sort::bytes(vertices.into(), entries(degrees, direction), longest.into(), largest);
            let out = rows(EdgeDirection::Out, fewest)?;
            Ok((out, Some(rows(EdgeDirection::In, 0)?)))
        }
    }
}

/// Returns the width of buckets for a graph whose mean weight is `mean` and whose mean degree is `degree`. In graphs
/// with hubs, buckets are narrow, so that the search notices in time when it reaches the hubs. In graphs without hubs,
/// a bucket must have so many vertices that a barrier per bucket pays off. But it must be so narrow that few distances
/// decrease twice: with this width, a search of a grid relaxes 1.1 times as many edges as the grid has. `farthest` is
/// an upper bound on distances. The index of its bucket must fit in 64 bits.
fn width(mean: f64, degree: f64, has_hubs: bool, farthest: f64) -> Width {
    let wanted = if has_hubs { mean } else { 8.0 * mean } / degree.max(1.0);
    // If `farthest` is infinite, the largest f64 takes its place.
    let wanted = wanted.max(farthest / MOST_BUCKETS).min(f64::MAX / MOST_BUCKETS);
    let reciprocal_f64 = 1.0 / wanted.max(f64::MIN_POSITIVE);
    let reciprocal = reciprocal_f64.min(f64::from(f32::MAX)) as f32;
    Width { shift: (wanted.max(1.0).log2().round() as u32).min(u64::BITS - 1), reciprocal, reciprocal_f64 }
}

impl Search<ShortestPathTree, SsspStats> for CpuSearch<'_> {
    fn search(&mut self, root: Vertex, tree: &mut ShortestPathTree) -> Result<SsspStats> {
        let ShortestPathTree { distances, parents } = tree;
        let (ranks, parents) = match &mut self.ranks {
            None => (None, parents),
            Some(RankState { exchange, edges, parents: of_rank }) => {
                failpoint::hit("sssp.ranks").map_err(|e| Error::internal("search by ranks", e))?;
                exchange.ranks.barrier()?;
                (Some((exchange, &*edges)), if parents.is_empty() { of_rank } else { parents })
            }
        };
        self.arrays.search(&self.graph, root, self.method, ranks, distances, parents)
    }
}
