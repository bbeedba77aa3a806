//! A graph, built once and used by many calls.

use super::column::{Column, IdList, Ids, RowIds};
use super::context::Context;
use super::folder::TemporaryFolder;
use super::labels::Labels;
use super::source::{Pairs, Unweighted, Weight, WeightedPairs};
use crate::algo::InputRef;
use crate::config::{self, InputSpec};
use crate::error::{Error, Result};
use crate::formats::AskedWeights as Weights;
use crate::formats::input::memory::{EdgeList, MemoryEdges};
use crate::graph::direction::Direction;
use crate::graph::ids::InputId;
use crate::job::input;
use crate::job::session::Session;
use crate::job::state::record::TaskRecord;
use crate::prepare::prepared::{Graph as PreparedGraph, InputInfo};
use crate::results::Value;
use crate::results::mapped::MappedColumn;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toml::{Table, Value as TomlValue};

/// A vertex, by its id in the input. [`Graph::vertex`] returns one after a check that the graph has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vertex(u64);

impl Vertex {
    /// Returns the id in the input.
    pub fn id(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Vertex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where the edges of a graph come from.
#[derive(Clone)]
enum Source {
    /// Keys of `[input]` in a job file.
    Keys(Table),
    Memory(Arc<dyn EdgeList>),
}

/// Builds a [`Graph`].
#[derive(Clone)]
pub struct GraphBuilder {
    source: Source,
    paths: Vec<String>,
    options: Table,
    vertices: Option<u64>,
    weights: Weights,
    spill_to: Option<PathBuf>,
}

impl GraphBuilder {
    /// Adds a file, a folder of files, or a pattern such as `edges/*.txt.gz`. All are read as one list of edges. The
    /// format of a file follows from its ending, unless [`GraphBuilder::format`] names it.
    pub fn input(mut self, path: impl AsRef<Path>) -> GraphBuilder {
        self.paths.push(path.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Reads edges from memory. [`Graph::from_edges`] is shorter for vectors.
    pub fn edges(mut self, edges: Arc<dyn EdgeList>) -> GraphBuilder {
        self.source = Source::Memory(edges);
        self
    }

    /// Generates a Kronecker (R-MAT) graph of 2^`scale` vertices and `edge_factor` edges a vertex, as Graph500 does.
    pub fn kronecker(self, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.generated("kronecker", scale, edge_factor, seed)
    }

    /// Generates a graph of 2^`scale` vertices and `edge_factor` edges a vertex, with random ends.
    pub fn uniform(self, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.generated("uniform", scale, edge_factor, seed)
    }

    fn generated(mut self, kind: &str, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        let mut of = Table::new();
        of.insert("scale".into(), TomlValue::Integer(scale.into()));
        of.insert("edge_factor".into(), TomlValue::Float(edge_factor));
        of.insert("seed".into(), TomlValue::Integer(seed as i64));
        self.source = Source::Keys(Table::from_iter([(kind.to_owned(), TomlValue::Table(of))]));
        self
    }

    /// Names the format of the files: one of those that `gpugraph help input` lists, such as `text`, `mtx` or `u32`.
    pub fn format(self, format: &str) -> GraphBuilder {
        self.option("format", TomlValue::String(format.into()))
    }

    /// Names the columns of text or Parquet that have the ends of edges, and the weight if there is a third name.
    pub fn columns(self, names: &[&str]) -> GraphBuilder {
        let names = names.iter().map(|&name| TomlValue::String(name.into())).collect();
        self.option("columns", TomlValue::Array(names))
    }

    /// Like [`GraphBuilder::columns`], by the numbers of the columns, which count from 1.
    pub fn columns_at(self, numbers: &[u32]) -> GraphBuilder {
        let numbers = numbers.iter().map(|&number| TomlValue::Integer(number.into())).collect();
        self.option("columns", TomlValue::Array(numbers))
    }

    /// Skips lines at the top of each text file.
    pub fn skip_lines(self, lines: u32) -> GraphBuilder {
        self.option("skip_lines", TomlValue::Integer(lines.into()))
    }

    /// Keeps the direction of edges, for searches and shortest paths. Triangles ignore it.
    pub fn directed(self, directed: bool) -> GraphBuilder {
        self.option("directed", TomlValue::Boolean(directed))
    }

    /// Sets the id of the first vertex, 0 or 1, for formats that count from 1.
    pub fn first_id(self, first: u32) -> GraphBuilder {
        self.option("first_id", TomlValue::Integer(first.into()))
    }

    /// Takes ids of text, CSV or Parquet for strings, such as names and words ([`Graph::labels`]). Digits are a string, too.
    pub fn string_ids(self) -> GraphBuilder {
        self.option("ids", TomlValue::String("string".into()))
    }

    /// Sets how weights are read. The default is [`Weights::Auto`].
    pub fn weights(mut self, weights: Weights) -> GraphBuilder {
        self.weights = weights;
        self
    }

    /// Sets the number of vertices of a graph from memory, if ids without edges are vertices, too.
    pub fn vertices(mut self, vertices: u64) -> GraphBuilder {
        self.vertices = Some(vertices);
        self
    }

    /// Keeps the graph in this folder, which is a workdir as jobs have it. The next build with the same input finds it
    /// there, [`Graph::open`] opens it without the input, and a build that is killed carries on. Without this, the
    /// graph is in the context's temporary folder, and is removed when the graph is dropped.
    pub fn spill_to(mut self, folder: impl Into<PathBuf>) -> GraphBuilder {
        self.spill_to = Some(folder.into());
        self
    }

    fn option(mut self, key: &str, value: TomlValue) -> GraphBuilder {
        self.options.insert(key.into(), value);
        self
    }

    /// Reads the edges and prepares the graph.
    ///
    /// # Errors
    /// Those of a job: [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that exclude each other,
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for edges that can't be read,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) with the limit that is enough, and others.
    pub fn build(self, context: &Context) -> Result<Graph> {
        let GraphBuilder { source, paths, mut options, vertices, weights, spill_to } = self;
        let given = match source {
            Source::Memory(_) if !paths.is_empty() => {
                return Err(Error::Usage("a graph from files and from memory: name one source".into()));
            }
            Source::Memory(edges) => {
                let edges = if weights == Weights::None { Arc::new(Unweighted(edges)) } else { edges };
                Some(InputSpec::Memory(MemoryEdges::new(edges, vertices)?))
            }
            Source::Keys(keys) => {
                if vertices.is_some() {
                    let why = "vertices are for edges in memory: files say how many vertices they have";
                    return Err(Error::Usage(why.into()));
                }
                options.extend(keys);
                None
            }
        };
        if !paths.is_empty() {
            options.insert("weights".into(), TomlValue::String(weights.name().into()));
            options.insert("path".into(), TomlValue::Array(paths.into_iter().map(TomlValue::String).collect()));
        }
        let (temporary, workdir) = match spill_to {
            Some(folder) => (None, folder),
            None => {
                let temporary = TemporaryFolder::new(context.folder())?;
                let workdir = temporary.path().to_owned();
                (Some(temporary), workdir)
            }
        };
        Graph::open_session(context, options, given, weights, workdir, temporary)
    }
}

/// A graph that is ready for algorithms.
///
/// Loops and repeated edges are dropped. Edges lie in files that are mapped to memory: a graph that fits stays in the
/// page cache, a larger one is read from the disk.
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
    // Dropped in this order: the files go after those who use them.
    session: Mutex<Session>,
    _temporary: Option<TemporaryFolder>,
}

impl Graph {
    /// Returns a builder without a source of edges.
    pub fn builder() -> GraphBuilder {
        let source = Source::Keys(Table::new());
        let (options, weights) = (Table::new(), Weights::default());
        GraphBuilder { source, paths: Vec::new(), options, vertices: None, weights, spill_to: None }
    }

    /// Builds an undirected graph from pairs of ids.
    ///
    /// # Errors
    /// Those of [`GraphBuilder::build`].
    pub fn from_edges(edges: impl IntoIterator<Item = (u64, u64)>, context: &Context) -> Result<Graph> {
        let pairs = Pairs(edges.into_iter().map(|(u, v)| [u, v]).collect());
        Graph::builder().edges(Arc::new(pairs)).build(context)
    }

    /// Builds an undirected graph from pairs of ids with weights: `u32`, `u64`, `f32` or `f64`.
    ///
    /// # Errors
    /// Those of [`GraphBuilder::build`].
    pub fn from_weighted_edges<W: Weight>(
        edges: impl IntoIterator<Item = (u64, u64, W)>,
        context: &Context,
    ) -> Result<Graph> {
        let (pairs, weights) = edges.into_iter().map(|(u, v, weight)| ([u, v], weight)).unzip();
        Graph::builder().edges(Arc::new(WeightedPairs { pairs: Pairs(pairs), weights })).build(context)
    }

    /// Opens the graph in `workdir`, which a job with `keep = true` or [`GraphBuilder::spill_to`] left there. It stays
    /// unchanged.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if there is no graph, [`ErrorKind::Corrupt`](crate::ErrorKind::Corrupt)
    /// if it has changed, [`ErrorKind::Busy`](crate::ErrorKind::Busy) if another process builds it.
    pub fn open(workdir: impl AsRef<Path>, context: &Context) -> Result<Graph> {
        let temporary = TemporaryFolder::new(context.folder())?;
        let path = temporary.path().to_owned();
        let prepared = std::path::absolute(workdir.as_ref()).unwrap_or_else(|_| workdir.as_ref().to_owned());
        let given = InputSpec::Prepared(prepared);
        Graph::open_session(context, Table::new(), Some(given), Weights::Auto, path, Some(temporary))
    }

    fn open_session(
        context: &Context,
        mut input: Table,
        given: Option<InputSpec>,
        weights: Weights,
        workdir: PathBuf,
        temporary: Option<TemporaryFolder>,
    ) -> Result<Graph> {
        if given.is_some() {
            input.retain(|key, _| key == "directed" || key == "first_id");
        }
        let mut job = context.job("graph", &workdir, input, given)?;
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

    /// Returns the number of edges, without loops and repeats.
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// Returns the number of vertices without edges to other vertices.
    pub fn isolated(&self) -> u64 {
        self.info.vertices - self.info.connected
    }

    /// Returns the number of edges in the input that are loops.
    pub fn self_loops(&self) -> u64 {
        self.info.loops
    }

    /// Returns the number of edges in the input that repeat others.
    pub fn duplicates(&self) -> u64 {
        self.info.edges - self.info.loops - self.edges
    }

    /// Returns the largest degree.
    pub fn max_degree(&self) -> u64 {
        self.max_degree
    }

    /// Returns true if the graph keeps the direction of edges.
    pub fn is_directed(&self) -> bool {
        self.info.direction == Direction::Directed
    }

    /// Returns the type of weights, if edges have some.
    pub(super) fn weight_type(&self) -> Option<crate::formats::WeightType> {
        self.info.weights.map(|weights| weights.kind)
    }

    /// Returns true if edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.info.weights.is_some()
    }

    /// Returns the ids of all vertices in ascending order if ids are sparse; `None` if they count from 0 or 1.
    pub fn ids(&self) -> Option<Ids> {
        self.ids.sparse()
    }

    /// Returns the strings of the vertices if the input has strings as ids. Ids are then the positions in their sorted
    /// list.
    pub fn labels(&self) -> Option<Labels> {
        self.labels.clone()
    }

    /// Returns the number of rows at the top of a column that are of no vertex: 1 if ids count from 1, otherwise 0.
    pub fn rows_before(&self) -> u64 {
        self.ids.rows_before()
    }

    /// Returns the vertex with this id.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if the graph has none.
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

    /// Returns the vertex whose id in the input is this string.
    ///
    /// # Errors
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) if the graph has none.
    pub fn vertex_of(&self, label: &str) -> Result<Vertex> {
        let found = self.labels.as_ref().and_then(|labels| labels.find(label));
        found
            .map(Vertex)
            .ok_or_else(|| crate::algo::sources::unknown(("vertex", InputId::of_name(label)), "", &self.info))
    }

    /// Returns a vertex as the table of an algorithm names it.
    pub(super) fn key(&self, Vertex(id): Vertex) -> Result<TomlValue> {
        match &self.labels {
            Some(labels) => labels.key(id),
            None => i64::try_from(id).map(TomlValue::Integer).map_err(|_| {
                Error::Usage(format!("vertex {id}: expected an id below 2^63 to begin at; number the vertices anew"))
            }),
        }
    }

    /// Computes the table of one algorithm with the keys of `options`, and returns its result and how it went.
    pub(super) fn compute<O: DeserializeOwned>(
        &self,
        context: &Context,
        algorithm: &str,
        options: &impl Serialize,
    ) -> Result<Computed<'_, O>> {
        context.check_same(&self.context)?;
        let task = config::task(algorithm, table_text(algorithm, options)?)?;
        context.call(|gpu| {
            let mut session = self.session();
            let record = session.compute(task, gpu)?.clone();
            Ok(Computed { output: record.output()?, record, session, ids: &self.ids })
        })
    }

    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
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

/// A result, as long as its files are not replaced by those of another call.
pub(super) struct Computed<'g, O> {
    pub(super) output: O,
    record: TaskRecord,
    session: MutexGuard<'g, Session>,
    ids: &'g RowIds,
}

impl<O> Computed<'_, O> {
    /// Returns the median of the seconds of the algorithm alone.
    pub(super) fn seconds(&self) -> f64 {
        crate::job::results::report::median(&self.record.seconds)
    }

    /// Returns how the algorithm went.
    pub(super) fn details<D: DeserializeOwned>(&self) -> Result<D> {
        serde_json::from_value(self.record.how.clone()).map_err(|e| Error::internal("read how it went", e))
    }

    /// Maps the column in `out/NAME.npy`.
    pub(super) fn column<T: Value>(&self, name: &str) -> Result<Column<T>> {
        let path = self.session.workdir().join("out").join(format!("{name}.npy"));
        Column::open(&path, self.ids)
    }
}

/// Returns the table of an algorithm as it stands in a job file.
pub(super) fn table_text(algorithm: &str, options: &impl Serialize) -> Result<String> {
    let table = Table::try_from(options).map_err(|e| Error::internal("write a table", e))?;
    Ok(Table::from_iter([(algorithm.to_owned(), TomlValue::Table(table))]).to_string())
}

/// Maps the list of ids that a job wrote.
pub(super) fn ids_of(path: &Path) -> Result<Arc<IdList>> {
    MappedColumn::open(path).map(|ids| Arc::new(IdList::Column(ids)))
}
