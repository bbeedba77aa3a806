//! A graph, which is built once and used by many library calls.

use super::builder::{GraphBuilder, Keys, Pairs, Weight, WeightedPairs};
use super::column::{Column, IdList, Ids, Labels, RowIds};
use super::context::Context;
use crate::algo::InputRef;
use crate::config::{self, InputSpec};
use crate::error::{Error, Result};
use crate::formats::WeightsOption as Weights;
use crate::graph::direction::Direction;
use crate::graph::ids::InputId;
use crate::job::input;
use crate::job::session::Session;
use crate::job::state::record::TaskRecord;
use crate::prepare::prepared::{Graph as PreparedGraph, InputInfo};
use crate::results::Value;
use crate::results::mapped::MappedColumn;
use crate::store::durable::TemporaryFolder;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A vertex of a graph, identified by its id in the input. [`Graph::vertex`] and [`Graph::vertex_of`] create one,
/// after checking that it exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(u64);

impl Vertex {
    /// Returns the id that the vertex has in the input.
    pub fn id(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Vertex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A graph that is prepared for algorithms.
///
/// Self-loops and duplicate edges are dropped. Edges are in memory-mapped files. A graph that fits in memory stays in
/// the page cache; a larger graph is read from disk again in each pass.
///
/// ```
/// use gpugraph::{Context, Graph};
///
/// let context = Context::new()?;
/// let graph = Graph::from_edges([(0, 1), (1, 2), (2, 0)], &context)?;
/// assert_eq!((graph.vertices(), graph.edges()), (3, 3));
/// # Ok::<(), gpugraph::Error>(())
/// ```
pub struct Graph {
    context: Context,
    info: InputInfo,
    edges: u64,
    max_degree: u64,
    ids: RowIds,
    labels: Option<Labels>,
    // These are dropped in this order, because the session uses the files.
    session: Mutex<Session>,
    _temporary: Option<TemporaryFolder>,
}

impl Graph {
    /// Returns a builder of a graph; its methods select the source of the edges.
    pub fn builder() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// Builds an undirected graph from edges, given as pairs of vertex ids.
    ///
    /// # Errors
    /// Errors of [`GraphBuilder::build`].
    pub fn from_edges(edges: impl IntoIterator<Item = (u64, u64)>, context: &Context) -> Result<Graph> {
        let pairs = Pairs(edges.into_iter().map(|(u, v)| [u, v]).collect());
        Graph::builder().edges(Arc::new(pairs)).build(context)
    }

    /// Builds an undirected graph from weighted edges, given as two vertex ids and a weight: `u32`, `u64`, `f32` or
    /// `f64`.
    ///
    /// # Errors
    /// Errors of [`GraphBuilder::build`].
    pub fn from_weighted_edges<W: Weight>(
        edges: impl IntoIterator<Item = (u64, u64, W)>,
        context: &Context,
    ) -> Result<Graph> {
        let (pairs, weights) = edges.into_iter().map(|(u, v, weight)| ([u, v], weight)).unzip();
        Graph::builder().edges(Arc::new(WeightedPairs { pairs: Pairs(pairs), weights })).build(context)
    }

    /// Opens a graph that is stored in `workdir`, by a job with `keep = true` or by [`GraphBuilder::spill_to`]. The
    /// stored graph is not modified.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if there is no graph,
    /// [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt) if its files were modified,
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another process is building the graph.
    pub fn open(workdir: impl AsRef<Path>, context: &Context) -> Result<Graph> {
        let temporary = TemporaryFolder::new(context.folder())?;
        let path = temporary.path().to_owned();
        let prepared = std::path::absolute(workdir.as_ref()).unwrap_or_else(|_| workdir.as_ref().to_owned());
        let input_spec = InputSpec::Prepared(prepared);
        Graph::open_session(context, Keys::new(), Some(input_spec), Weights::Auto, path, Some(temporary))
    }

    pub(super) fn open_session(
        context: &Context,
        input: Keys,
        input_spec: Option<InputSpec>,
        weights: Weights,
        workdir: PathBuf,
        temporary: Option<TemporaryFolder>,
    ) -> Result<Graph> {
        let mut job = context.job("graph", &workdir, input, input_spec)?;
        job.keeps_weights = weights == Weights::Auto && !matches!(job.input, InputSpec::Prepared(_)) && {
            let input = input::open(&job.input)?;
            input.may_have_weights()?
        };
        let session = context.call(|gpu| Session::open(job, gpu, context.observer()))?;
        let (info, edges, max_degree) = match session.input()? {
            InputRef::Graph(graph) => (graph.info.clone(), graph.stored.edges, graph.stored.summary.max_degree),
            InputRef::List(_) => return Err(Error::internal("open a graph", "it is a list")),
        };
        let ids = match info.sparse {
            false => RowIds::Dense { first: info.rows_before() },
            true => RowIds::Sparse(Arc::new(IdList::of(session.input()?.graph(), info.first_id)?)),
        };
        let labels = session.input()?.graph().map(PreparedGraph::names).transpose()?.flatten().map(Labels::new);
        Ok(Graph {
            context: context.clone(),
            info,
            edges,
            max_degree,
            ids,
            labels,
            session: Mutex::new(session),
            _temporary: temporary,
        })
    }

    /// Returns the number of vertices: the number that the input declares, or else the largest id + 1. If ids are
    /// sparse, it is the number of different ids.
    pub fn vertices(&self) -> u64 {
        self.info.vertices
    }

    /// Returns the number of edges, without self-loops and duplicates.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Returns the number of vertices without edges to other vertices.
    pub fn isolated(&self) -> u64 {
        self.info.vertices - self.info.connected
    }

    /// Returns the number of self-loops in the input.
    pub fn self_loops(&self) -> u64 {
        self.info.loops
    }

    /// Returns the number of duplicate edges in the input: edges that repeat an earlier one.
    pub fn duplicates(&self) -> u64 {
        self.info.edges - self.info.loops - self.edges
    }

    /// Returns the largest degree; in a directed graph, the largest out-degree or in-degree.
    pub fn max_degree(&self) -> u64 {
        self.max_degree
    }

    /// Returns true if the graph is directed.
    pub fn is_directed(&self) -> bool {
        self.info.direction == Direction::Directed
    }

    /// Returns the number type of the edge weights; `None` for an unweighted graph.
    pub(super) fn weight_type(&self) -> Option<crate::formats::WeightType> {
        self.info.weights.map(|weights| weights.kind)
    }

    /// Returns true if edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.info.weights.is_some()
    }

    /// Returns the ids of all vertices in ascending order if ids are sparse; `None` if ids are dense (0-based or
    /// 1-based).
    pub fn ids(&self) -> Option<Ids> {
        self.ids.sparse()
    }

    /// Returns the string ids of the vertices, sorted; `None` if the ids in the input are numbers. The numeric id of a
    /// vertex is the index of its string.
    pub fn labels(&self) -> Option<Labels> {
        self.labels.clone()
    }

    /// Returns the number of unused rows at the start of a result column: 1 if ids are 1-based, otherwise 0.
    pub fn rows_before(&self) -> u64 {
        self.ids.rows_before()
    }

    /// Returns the vertex with the id `id`.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if the graph has no such vertex.
    pub fn vertex(&self, id: u64) -> Result<Vertex> {
        let has = match &self.ids {
            RowIds::Dense { first } => id.checked_sub(*first).is_some_and(|raw| raw < self.info.vertices),
            RowIds::Sparse(ids) => ids.ids().binary_search(&id).is_ok(),
        };
        match has {
            true => Ok(Vertex(id)),
            false => Err(crate::algo::sources::unknown(("vertex", InputId::Number(id)), "", &self.info)),
        }
    }

    /// Returns the vertex whose string id in the input is `label`.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if the graph has no such vertex.
    pub fn vertex_of(&self, label: &str) -> Result<Vertex> {
        let found = self.labels.as_ref().and_then(|labels| labels.find(label));
        found
            .map(Vertex)
            .ok_or_else(|| crate::algo::sources::unknown(("vertex", InputId::of_name(label)), "", &self.info))
    }

    /// Returns the numeric id of a vertex that a result names. If the input has string ids, results name vertices by
    /// strings.
    pub(super) fn id_of(&self, vertex: InputId) -> Option<u64> {
        match vertex {
            InputId::Number(number) => Some(number),
            InputId::Name(name) => self.vertex_of(name.text()).ok().map(Vertex::id),
        }
    }

    /// Returns the value that identifies a vertex in a job-file table: its id, or its string if the input has string
    /// ids.
    pub(super) fn key(&self, Vertex(id): Vertex) -> Result<InputId> {
        self.labels.as_ref().map_or(Ok(InputId::Number(id)), |labels| labels.key(id))
    }

    /// Runs the algorithm whose job-file table is called `algorithm`. `options` are the keys of the table. Returns the
    /// result.
    pub(super) fn compute<O: DeserializeOwned>(
        &self,
        context: &Context,
        algorithm: &str,
        options: &impl Serialize,
    ) -> Result<Computed<'_, O>> {
        context.check_same(&self.context)?;
        let task = config::task(algorithm, table_text(algorithm, options)?)?;
        context.call(|gpu| {
            let mut session = self.session.lock();
            let record = session.compute(task, gpu)?.clone();
            Ok(Computed { output: record.output()?, record, session, ids: &self.ids })
        })
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("vertices", &self.vertices())
            .field("edges", &self.edges())
            .field("directed", &self.is_directed())
            .finish_non_exhaustive()
    }
}

/// The result of a library call, with access to its files. It locks the session of the graph, so that no other call
/// replaces the files.
pub(super) struct Computed<'g, O> {
    pub(super) output: O,
    record: TaskRecord,
    session: MutexGuard<'g, Session>,
    ids: &'g RowIds,
}

impl<O> Computed<'_, O> {
    /// Returns the median time of the algorithm's trials, in seconds.
    pub(super) fn seconds(&self) -> f64 {
        crate::job::results::report::median(&self.record.seconds)
    }

    /// Returns the time of the search in seconds, for a result with a single source.
    pub(super) fn seconds_of_source(&self) -> f64 {
        self.record.how["sources"][0]["seconds"].as_f64().unwrap_or(0.0)
    }

    /// Returns details of how the algorithm ran, such as its times.
    pub(super) fn details<D: DeserializeOwned>(&self) -> Result<D> {
        serde_json::from_value(self.record.how.clone()).map_err(|e| Error::internal("read how it went", e))
    }

    /// Memory-maps the result column in `out/NAME.npy`.
    pub(super) fn column<T: Value>(&self, name: &str) -> Result<Column<T>> {
        let path = self.session.workdir().join("out").join(format!("{name}.npy"));
        Column::open(&path, self.ids)
    }

    /// Memory-maps the result column in `out/NAME.npy`, whose values do not belong to vertices. Rows are accessed by
    /// index instead of vertex id.
    pub(super) fn column_of_rows<T: Value>(&self, name: &str) -> Result<Column<T>> {
        let path = self.session.workdir().join("out").join(format!("{name}.npy"));
        Column::open(&path, &RowIds::Dense { first: 0 })
    }
}

/// Returns the job-file table of an algorithm as TOML text.
pub(super) fn table_text(algorithm: &str, options: &impl Serialize) -> Result<String> {
    toml::to_string(&BTreeMap::from([(algorithm, options)])).map_err(|e| Error::internal("write a table", e))
}

/// Memory-maps the list of vertex ids that a job wrote to `path`.
pub(super) fn ids_of(path: &Path) -> Result<Arc<IdList>> {
    MappedColumn::open(path).map(|ids| Arc::new(IdList::Column(ids)))
}
