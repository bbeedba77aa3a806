//! Searches by the threads of a process.
//!
//! | file | holds |
//! |---|---|
//! | `rows` | rows sorted by weight, which are made before the first search |
//! | `slices` | those that are in memory |
//! | `sort` | how they are made, in memory or, where that is too small, in a file |
//! | `packing` | entries in as few bytes as hold them |
//! | `disk` | rows in a file, of which memory has the first entries |
//! | `near` | which entries those are |
//! | `arithmetic` | sums of whole numbers and of decimals |
//! | `search` | a search: its phases, and what all threads know of them |
//! | `push` | along the edges of vertices that became nearer, bucket after bucket |
//! | `pull` | by vertices along the edges that lead to them, where most become nearer at once |
//! | `bins` | the buckets of a thread |
//! | `rounds` | along the edges of all vertices, round after round: the baseline |
//! | `parents` | the parents of vertices, once distances are known |
//! | `plateau` | those of vertices that edges lead to which add nothing |

pub(super) mod arithmetic;
pub(super) mod bins;
mod disk;
mod near;
mod packing;
mod parents;
mod plateau;
mod pull;
mod push;
mod rounds;
mod rows;
mod search;
mod slices;
mod sort;

use self::arithmetic::{Arithmetic, Decimal, Long, Short, Tree, Width};
use self::bins::Bins;
use self::packing::Packing;
use self::rows::Rows;
use self::search::Walk;
use self::sort::{RowFile, Sorter};
use super::distances::Distances;
use super::edges::{self, Edges};
use super::options::{Method, Sssp};
use super::ranks::exchange::Exchange;
use super::search::{Search, Searched};
use crate::algo::WeightSource;
use crate::algo::own::Own;
use crate::algo::run::Units;
use crate::algo::team::of_cores;
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::direction::{Direction, Way};
use crate::graph::ids::Vertex;
use crate::memory::{Budget, Buffer, Reservation, populate};
use crate::prepare::prepared::Graph;
use crate::store::map::Mapped;
use std::sync::{Mutex, PoisonError};

/// Entries of all rows below which one thread searches alone: others would hardly have begun when it is done.
const FEW: u64 = 1 << 12;
/// Bytes for each vertex of those that became nearer in a round, if these are few.
const NEARER: u64 = 2;
/// Bytes for each vertex that are left to buckets where rows are in a file, of which memory keeps what fits.
const BUCKETS: u64 = 4;
/// Most buckets that have numbers.
const MOST_BUCKETS: f64 = (1u64 << 62) as f64;
/// Edges of a hub, by those that vertices have in the mean.
const HUB: f64 = 32.0;

/// A graph that the threads of this process search.
pub struct CpuSearch {
    graph: Sorted,
    sums: Sums,
    method: Method,
}

/// A graph whose rows are sorted by weight.
pub struct Sorted {
    /// Rows of edges that leave vertices.
    out: Rows,
    /// Rows of edges that lead to them, if these are others.
    into: Option<Rows>,
    /// Its vertices.
    vertices: u32,
    /// Vertices from this one on have one edge each, which has no direction: no shortest path leads through them.
    tails: u32,
    /// The vertices whose rows are here: all, or those that this rank owns. Rows of others are empty.
    own: Own,
    /// The entries of all rows, those of other ranks among them.
    entries: u64,
    /// The width of buckets.
    width: Width,
    /// True if some vertices have many more edges than most.
    has_hubs: bool,
    /// True if rows are on a disk, here or on another rank: all take the same steps, however much memory each has.
    is_on_disk: bool,
}

impl Sorted {
    /// Returns the rows of edges that lead to vertices.
    fn into(&self) -> &Rows {
        self.into.as_ref().unwrap_or(&self.out)
    }
}

/// The distances of vertices while they are looked for.
enum Sums {
    Short(State<Short>),
    Long(State<Long>),
    Decimal(State<Decimal>),
    ShortTree(State<Tree<Short>>),
    DecimalTree(State<Tree<Decimal>>),
}

/// The arrays of searches in one arithmetic.
struct State<A: Arithmetic> {
    cells: Buffer<A::Cell>,
    /// The buckets of each thread.
    bins: Vec<Mutex<Bins<A::Sum>>>,
    /// Memory for vertices that became nearer in a round.
    _nearer: Reservation,
}

impl<A: Arithmetic> State<A> {
    fn new(vertices: u32, threads: usize, budget: &Budget) -> Result<State<A>> {
        let mut cells = budget.zeroed(vertices as usize, "distances while they are looked for")?;
        populate(&mut cells);
        let bins = (0..threads).map(|_| Bins::new(vertices, budget).map(Mutex::new)).collect::<Result<_>>()?;
        let nearer = budget.reserve(NEARER * u64::from(vertices), "vertices that become nearer in a round")?;
        Ok(State { cells, bins, _nearer: nearer })
    }
}

/// The size of a graph's rows.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Its vertices.
    pub vertices: u64,
    /// The entries of all rows of one way.
    pub entries: u64,
    /// The most of one row.
    pub longest: u64,
    /// A weight that none is larger than.
    pub largest: u32,
    /// The direction of edges.
    pub direction: Direction,
}

/// Returns the bytes that searches of such a graph by `threads` threads take beside distances and parents, and the fewest that do if sorted rows go to
/// a file.
pub fn bytes(size: &Size, threads: usize) -> [u64; 2] {
    let Size { vertices, entries, longest, largest, direction } = *size;
    sort::bytes(vertices, entries, longest, largest).map(|rows| (rows << direction.shift()) + others(vertices, threads))
}

/// Returns the bytes beside rows.
fn others(vertices: u64, threads: usize) -> u64 {
    (8 + NEARER) * vertices + threads as u64 * bins::bytes(vertices)
}

/// Returns the bytes of the file of sorted rows, with weights up to `largest`.
pub fn file_bytes(vertices: u64, entries: u64, largest: u32, direction: Direction) -> u64 {
    disk::bytes(Packing::of(vertices, largest), entries) << direction.shift()
}

/// The resources of searches on CPUs.
pub struct Resources<'a> {
    /// Threads.
    pub threads: usize,
    /// Host memory that is left.
    pub budget: &'a Budget,
    /// The place of a file, where memory is too small for sorted rows.
    pub units: Units<'a>,
}

impl CpuSearch {
    /// Gets ready to search a graph by the weights and the method of a table.
    ///
    /// # Errors
    /// [`crate::Error::Limit`] where [`bytes()`] do not fit; those of the graph and of the disk; a stop.
    pub fn new(graph: &Graph, table: &Sssp, degrees: &Mapped, resources: &Resources<'_>) -> Result<CpuSearch> {
        Self::of_part(graph, table, degrees, resources, Own::all(graph.info.connected as usize), None)
    }

    /// Gets ready to search the part of a graph that a rank owns, with the others if there are any. Collective.
    ///
    /// # Errors
    /// Those of [`Self::new`] and of the exchange.
    pub fn of_part(
        graph: &Graph,
        table: &Sssp,
        degrees: &Mapped,
        resources: &Resources<'_>,
        own: Own,
        exchange: Option<&mut Exchange>,
    ) -> Result<CpuSearch> {
        let (method, budget) = (table.method, resources.budget);
        let degrees = degrees.body_as_u32()?;
        let edges = Edges::new(graph, table.weights, budget)?;
        let (kind, direction, vertices) = (edges.kind(), edges.direction(), graph.info.connected as u32);
        let (out, into) = sort_rows(&edges, table.weights, degrees, own, resources)?;
        drop(edges);
        if out.is_on_disk() {
            tracing::info!("rows sorted by weight are in a file: memory is too small for them");
            if own.ranks() == 1 {
                resources.units.remove_files()?;
            }
        }
        let is_tail = |v: &u32| direction == Direction::Undirected && degrees[*v as usize] == 1;
        let tails = vertices - (0..vertices).rev().take_while(is_tail).count() as u32;
        let (mut weights, mut is_on_disk) = (out.weights(), out.is_on_disk());
        if let Some(exchange) = exchange {
            weights = weights.of_all(kind, exchange)?;
            is_on_disk = exchange.sum(is_on_disk.into())? > 0;
        }
        let entries = entries(degrees, direction);
        let degree = entries as f64 / f64::from(vertices.max(1));
        // Vertices are in the order of degree.
        let longest = degrees.iter().take(1 << direction.shift()).max().copied().unwrap_or(0);
        let has_hubs = f64::from(longest) > HUB * degree;
        // No path is longer than one over all vertices.
        let farthest = rows::number(kind, weights.largest) * f64::from(vertices);
        let width = width(weights.sum / entries.max(1) as f64, degree, has_hubs, farthest);
        let is_short = u64::from(weights.largest).saturating_mul(vertices.into()) < u64::from(u32::MAX);
        let threads = if entries < FEW { 1 } else { of_cores(resources.threads) };
        // Who pulls, and other ranks, know sums alone.
        let tells_parents = own.ranks() == 1 && !(has_hubs && method == Method::Auto);
        let sums = match kind {
            WeightType::F32 if tells_parents => Sums::DecimalTree(State::new(vertices, threads, budget)?),
            WeightType::U32 if is_short && tells_parents => Sums::ShortTree(State::new(vertices, threads, budget)?),
            WeightType::F32 => Sums::Decimal(State::new(vertices, threads, budget)?),
            WeightType::U32 if is_short => Sums::Short(State::new(vertices, threads, budget)?),
            WeightType::U32 => Sums::Long(State::new(vertices, threads, budget)?),
        };
        let graph = Sorted { out, into, vertices, tails, own, entries, width, has_hubs, is_on_disk };
        Ok(CpuSearch { graph, sums, method })
    }

    /// Searches together with the other ranks, if there are any. Collective.
    ///
    /// # Errors
    /// Those of the exchange, and a stop.
    pub fn search_with(
        &mut self,
        root: Vertex,
        ranks: Option<(&mut Exchange, &Edges<'_>)>,
        distances: &mut Distances,
        parents: &mut [u32],
    ) -> Result<Searched> {
        match &self.sums {
            Sums::Short(state) => self.go(state, root, ranks, distances, parents),
            Sums::Long(state) => self.go(state, root, ranks, distances, parents),
            Sums::Decimal(state) => self.go(state, root, ranks, distances, parents),
            Sums::ShortTree(state) => self.go(state, root, ranks, distances, parents),
            Sums::DecimalTree(state) => self.go(state, root, ranks, distances, parents),
        }
    }

    fn go<A: Arithmetic>(
        &self,
        state: &State<A>,
        root: Vertex,
        ranks: Option<(&mut Exchange, &Edges<'_>)>,
        distances: &mut Distances,
        parents: &mut [u32],
    ) -> Result<Searched> {
        let walk = Walk::<A>::new(&self.graph, &state.cells, root, self.method, &state.bins, ranks);
        let searched = walk.run(parents)?;
        state.bins.iter().for_each(|bins| bins.lock().unwrap_or_else(PoisonError::into_inner).give_back());
        A::copy(&state.cells, distances);
        Ok(searched)
    }
}

/// Returns the entries of all rows of one way, by the degrees of all rows.
fn entries(degrees: &[u32], direction: Direction) -> u64 {
    degrees.iter().map(|&degree| u64::from(degree)).sum::<u64>() >> direction.shift()
}

/// Sorts the rows of own vertices by weight: of the edges that leave them, and of those that lead to them where these are others. They go to files where
/// memory is too small.
fn sort_rows(
    edges: &Edges<'_>,
    weights: WeightSource,
    degrees: &[u32],
    own: Own,
    resources: &Resources<'_>,
) -> Result<(Rows, Option<Rows>)> {
    let Resources { threads, budget, ref units } = *resources;
    let (direction, vertices, largest) = (edges.direction(), own.vertices() as u32, edges.largest());
    let length = |v: u32, way: Way| if own.has(v) { degrees[direction.row(v, way) as usize] } else { 0 };
    let here = (0..vertices).map(|v| u64::from(length(v, Way::Out))).sum();
    let size = Size { vertices: vertices.into(), entries: here, longest: 0, largest, direction };
    let [in_memory, _] = bytes(&size, threads);
    let goes_to_file = in_memory > budget.free();
    // `later` are bytes for the rows of another way, which follow.
    let rows = |way: Way, later: u64| {
        let spare = others(vertices.into(), threads) + BUCKETS * u64::from(vertices);
        // The ids that weights are drawn by are free again after the last way, but where ranks look them up.
        let ids = if own.ranks() == 1 { edges::bytes(weights, vertices.into()) } else { 0 };
        let spare = if later > 0 { spare + later } else { spare.saturating_sub(ids) };
        let ways = if later > 0 { 2 } else { 1 };
        let file = goes_to_file.then(|| RowFile { units, rank: own.rank(), spare, ways });
        Sorter { edges, largest, way, budget }.rows((0..vertices).map(|v| length(v, way)), file)
    };
    match direction {
        Direction::Undirected => Ok((rows(Way::Out, 0)?, None)),
        Direction::Directed => {
            // Rows of the other way have room, too.
            let longest = degrees.iter().max().copied().unwrap_or(0);
            let [_, fewest] = sort::bytes(vertices.into(), entries(degrees, direction), longest.into(), largest);
            let out = rows(Way::Out, fewest)?;
            Ok((out, Some(rows(Way::In, 0)?)))
        }
    }
}

/// Returns the width of buckets for weights of this mean, in a graph whose vertices have so many edges. With hubs, narrow ones show where these are
/// met; without, buckets have to be so wide that their vertices are worth a meeting of threads, and few of them become nearer twice: a grid looked
/// along 1.1 times its edges. The bucket of `farthest` has a number, too.
fn width(mean: f64, degree: f64, has_hubs: bool, farthest: f64) -> Width {
    let wanted = if has_hubs { mean } else { 8.0 * mean } / degree.max(1.0);
    let wanted = wanted.max(farthest / MOST_BUCKETS);
    let reciprocal = (1.0 / wanted.max(f64::MIN_POSITIVE)).min(f64::from(f32::MAX)) as f32;
    Width { shift: wanted.max(1.0).log2().round() as u32, reciprocal }
}

impl Search for CpuSearch {
    fn search(&mut self, root: Vertex, distances: &mut Distances, parents: &mut [u32]) -> Result<Searched> {
        self.search_with(root, None, distances, parents)
    }
}
