//! The class `Graph`. Its methods return numbers and arrays in tuples, which `gpugraph/_results.py` gives names.

use crate::arrays::{Edges, lent, of_column};
use crate::context::Context;
use crate::errors;
use crate::process::OfProcess;
use gpugraph::sssp::{Distances, EdgeWeights};
use gpugraph::{
    GraphBuilder, Weights, betweenness, bfs, cdlp, components, cores, dfs, distances, pagerank, sssp, triangles,
};
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A prepared graph.
#[pyclass(frozen, module = "gpugraph._gpugraph")]
pub struct Graph {
    graph: OfProcess<gpugraph::Graph>,
    context: Py<Context>,
}

/// The strings of the vertices of a graph.
#[pyclass(frozen, module = "gpugraph._gpugraph")]
pub struct Labels(gpugraph::Labels);

#[pymethods]
impl Labels {
    /// All strings in order. Bytes that are no UTF-8 are escaped as by `os.fsdecode`.
    fn all<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0
            .iter()
            .map(|label| PyBytes::new(py, label).call_method1("decode", ("utf-8", "surrogateescape")))
            .collect()
    }

    /// The number of the vertex with this string; None if there is none.
    fn find(&self, label: &[u8]) -> Option<u64> {
        self.0.find(label)
    }
}

/// Names or numbers of columns of a text file.
#[derive(FromPyObject)]
enum Columns {
    Numbers(Vec<u32>),
    Names(Vec<String>),
}

/// Keys of `[input]`. Those that are `None` have their defaults.
#[derive(FromPyObject)]
struct FileOptions {
    #[pyo3(item)]
    format: Option<String>,
    #[pyo3(item)]
    columns: Option<Columns>,
    #[pyo3(item)]
    skip_lines: Option<u32>,
    #[pyo3(item)]
    first_id: Option<u32>,
    #[pyo3(item)]
    weights: String,
    #[pyo3(item)]
    ids: String,
}

fn built(
    py: Python<'_>,
    context: &Py<Context>,
    (mut builder, directed, workdir): (GraphBuilder, bool, Option<PathBuf>),
) -> PyResult<Graph> {
    builder = builder.directed(directed);
    if let Some(workdir) = workdir {
        builder = builder.spill_to(workdir);
    }
    opened(py, context, |context| builder.build(context))
}

fn opened(
    py: Python<'_>,
    context: &Py<Context>,
    open: impl FnOnce(&gpugraph::Context) -> gpugraph::Result<gpugraph::Graph> + Send,
) -> PyResult<Graph> {
    let graph = context.get().call(py, open)?;
    Ok(Graph { graph: OfProcess::new(graph), context: context.clone_ref(py) })
}

#[pymethods]
impl Graph {
    #[staticmethod]
    fn from_files(
        py: Python<'_>,
        context: Py<Context>,
        paths: Vec<PathBuf>,
        options: FileOptions,
        directed: bool,
        workdir: Option<PathBuf>,
    ) -> PyResult<Graph> {
        let weights = options.weights.parse::<Weights>().map_err(|why| errors::usage(py, &why))?;
        let mut builder = paths.iter().fold(gpugraph::Graph::builder(), GraphBuilder::input).weights(weights);
        builder = match options.ids.as_str() {
            "number" => builder,
            "string" => builder.string_ids(),
            other => {
                return Err(errors::usage(py, &format!("ids: expected \"number\" or \"string\", found {other:?}")));
            }
        };
        if let Some(format) = &options.format {
            builder = builder.format(format);
        }
        builder = match &options.columns {
            Some(Columns::Numbers(numbers)) => builder.columns_at(numbers),
            Some(Columns::Names(names)) => builder.columns(&names.iter().map(String::as_str).collect::<Vec<_>>()),
            None => builder,
        };
        if let Some(lines) = options.skip_lines {
            builder = builder.skip_lines(lines);
        }
        if let Some(first) = options.first_id {
            builder = builder.first_id(first);
        }
        built(py, &context, (builder, directed, workdir))
    }

    /// `ends` are arrays with the ends of each edge, and perhaps its weight.
    #[staticmethod]
    fn from_arrays(
        py: Python<'_>,
        context: Py<Context>,
        ends: (Bound<'_, PyUntypedArray>, Bound<'_, PyUntypedArray>, Option<Bound<'_, PyUntypedArray>>),
        vertices: Option<u64>,
        directed: bool,
        workdir: Option<PathBuf>,
    ) -> PyResult<Graph> {
        let (sources, targets, weights) = ends;
        let edges = Edges::new(&sources, &targets, weights.as_ref())?;
        let mut builder = gpugraph::Graph::builder().edges(Arc::new(edges));
        if let Some(vertices) = vertices {
            builder = builder.vertices(vertices);
        }
        built(py, &context, (builder, directed, workdir))
    }

    /// `uniform`: random ends instead of a Kronecker graph.
    #[staticmethod]
    fn generated(
        py: Python<'_>,
        context: Py<Context>,
        uniform: bool,
        numbers: (u32, f64, u64),
        directed: bool,
        workdir: Option<PathBuf>,
    ) -> PyResult<Graph> {
        let (scale, edge_factor, seed) = numbers;
        let builder = gpugraph::Graph::builder();
        let builder = match uniform {
            true => builder.uniform(scale, edge_factor, seed),
            false => builder.kronecker(scale, edge_factor, seed),
        };
        built(py, &context, (builder, directed, workdir))
    }

    #[staticmethod]
    fn open(py: Python<'_>, context: Py<Context>, workdir: PathBuf) -> PyResult<Graph> {
        opened(py, &context, |context| gpugraph::Graph::open(workdir, context))
    }

    /// Vertices, edges, isolated vertices, loops, repeated edges, largest degree, and rows before those of vertices.
    fn figures(&self) -> (u64, u64, u64, u64, u64, u64, u64) {
        let graph = &*self.graph;
        let dropped = (graph.self_loops(), graph.duplicates());
        let sizes = (graph.vertices(), graph.edges(), graph.isolated());
        (sizes.0, sizes.1, sizes.2, dropped.0, dropped.1, graph.max_degree(), graph.rows_before())
    }

    fn is_directed(&self) -> bool {
        self.graph.is_directed()
    }

    fn is_weighted(&self) -> bool {
        self.graph.is_weighted()
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.graph.ids().map(|ids| lent::<u64, _>(py, ids)).transpose()
    }

    /// The strings of the vertices, if the input has strings as ids.
    fn labels(&self) -> Option<Labels> {
        self.graph.labels().map(Labels)
    }

    /// Triangles, wedges, transitivity and seconds.
    fn totals(&self, py: Python<'_>) -> PyResult<(u128, u128, f64, f64)> {
        let totals = self.call(py, triangles::totals)?;
        Ok((totals.triangles, totals.wedges, totals.transitivity, totals.seconds))
    }

    /// The totals, the average clustering, and the columns.
    fn triangles<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, triangles::clustering)?;
        let totals = (found.totals.triangles, found.totals.wedges, found.totals.transitivity, found.totals.seconds);
        let columns =
            (of_column(py, &found.triangles)?, of_column(py, &found.degree)?, of_column(py, &found.clustering)?);
        (totals, found.average, columns).into_pyobject(py)
    }

    /// The totals, the average clustering, and the columns.
    fn directed_clustering<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, triangles::directed_clustering)?;
        let totals = (found.totals.triangles, found.totals.wedges, found.totals.transitivity, found.totals.seconds);
        let columns = (of_column(py, &found.links)?, of_column(py, &found.degree)?, of_column(py, &found.clustering)?);
        (totals, found.average, columns).into_pyobject(py)
    }

    /// The totals, the largest support, and the columns of edges.
    fn edge_supports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, triangles::per_edge)?;
        let totals = (found.totals.triangles, found.totals.wedges, found.totals.transitivity, found.totals.seconds);
        let columns = (of_column(py, &found.source)?, of_column(py, &found.target)?, of_column(py, &found.support)?);
        (totals, found.largest, columns).into_pyobject(py)
    }

    /// Triangles, comparisons by id and by degree, their ratio, and seconds.
    fn triangle_comparisons(&self, py: Python<'_>) -> PyResult<(u128, u128, u128, f64, f64)> {
        let found = self.call(py, triangles::comparisons)?;
        let totals = found.totals;
        Ok((totals.triangles, found.input_order, found.degree_order, found.ratio, totals.seconds))
    }

    /// Vertices reached, largest level, edges between them, seconds, and the columns.
    fn bfs<'py>(
        &self,
        py: Python<'py>,
        source: u64,
        alpha: Option<f64>,
        beta: Option<f64>,
        validate: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let options = bfs::Options { alpha, beta, validate };
        let tree = self.call(py, |graph, context| bfs::search(graph, graph.vertex(source)?, &options, context))?;
        let columns = (of_column(py, tree.parents())?, of_column(py, tree.levels())?);
        ((tree.reached(), tree.depth(), tree.edges(), tree.seconds()), columns).into_pyobject(py)
    }

    /// Vertices reached, seconds, and the columns.
    fn sssp<'py>(
        &self,
        py: Python<'py>,
        source: u64,
        method: &str,
        weights: Option<(u32, u32, u64)>,
        unit: bool,
        validate: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let method = match method {
            "auto" => sssp::Method::Auto,
            "moore" => sssp::Method::Moore,
            "delta-stepping" => sssp::Method::DeltaStepping,
            "bellman-ford" => sssp::Method::BellmanFord,
            other => {
                let why = "method: expected \"auto\", \"moore\", \"delta-stepping\" or \"bellman-ford\"";
                return Err(errors::usage(py, &format!("{why}, found {other:?}")));
            }
        };
        let weights = match weights {
            Some((least, most, seed)) => EdgeWeights::Uniform { least, most, seed },
            None if unit => EdgeWeights::Unit,
            None => EdgeWeights::Graph,
        };
        let options = sssp::Options { method, weights, validate };
        let paths = self.call(py, |graph, context| sssp::search(graph, graph.vertex(source)?, &options, context))?;
        let distances = match paths.distances() {
            Distances::Whole(distances) => of_column(py, distances),
            Distances::Decimal(distances) => of_column(py, distances),
            Distances::Double(distances) => of_column(py, distances),
        };
        ((paths.reached(), paths.seconds()), (distances?, of_column(py, paths.parents())?)).into_pyobject(py)
    }

    /// Vertices reached, trees, largest depth, seconds, the columns, and those that were asked for.
    fn dfs<'py>(
        &self,
        py: Python<'py>,
        source: Option<u64>,
        articulation: bool,
        components: bool,
        validate: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let options = dfs::Options { articulation, components, validate };
        let tree = self.call(py, |graph, context| {
            let source = source.map(|id| graph.vertex(id)).transpose()?;
            dfs::search(graph, source, &options, context)
        })?;
        let numbers = (tree.reached(), tree.trees(), tree.max_depth(), tree.seconds());
        let columns = (
            of_column(py, tree.parents())?,
            of_column(py, tree.preorder())?,
            of_column(py, tree.postorder())?,
            of_column(py, tree.depths())?,
        );
        let asked = (
            tree.articulation_points().map(|column| of_column(py, column)).transpose()?,
            tree.bridges().map(|column| of_column(py, column)).transpose()?,
            tree.strong_components().map(|column| of_column(py, column)).transpose()?,
        );
        (numbers, columns, asked).into_pyobject(py)
    }

    /// Number of components, sizes of the largest, seconds, and the column.
    fn components<'py>(&self, py: Python<'py>, strong: bool) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, if strong { components::strong } else { components::weak })?;
        let numbers = (found.number(), found.largest().to_vec(), found.seconds());
        (numbers, of_column(py, found.component())?).into_pyobject(py)
    }

    /// Iterations, vertices that changed in the last, number of communities, sizes of the largest, seconds, and the column.
    fn cdlp<'py>(&self, py: Python<'py>, iterations: u64) -> PyResult<Bound<'py, PyTuple>> {
        let options = cdlp::Options { iterations };
        let found = self.call(py, |graph, context| cdlp::communities(graph, &options, context))?;
        let counts = (found.iterations(), found.changed(), found.number());
        let numbers = (counts.0, counts.1, counts.2, found.largest().to_vec(), found.seconds());
        (numbers, of_column(py, found.label())?).into_pyobject(py)
    }

    /// The degeneracy, seconds, and both columns.
    fn cores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, cores::numbers)?;
        let columns = (of_column(py, found.core())?, of_column(py, found.layer())?);
        ((found.degeneracy(), found.seconds()), columns).into_pyobject(py)
    }

    /// Sources, pairs, depth, the number that scores are divided by, seconds, and the column.
    fn betweenness<'py>(
        &self,
        py: Python<'py>,
        sources: Option<Vec<u64>>,
        roots: u32,
        seed: u64,
        normalise: &str,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let normalise = match normalise {
            "none" => betweenness::Normalise::None,
            "largest" => betweenness::Normalise::Largest,
            "pairs" => betweenness::Normalise::Pairs,
            other => {
                let why = format!("normalise: expected \"none\", \"largest\" or \"pairs\", found {other:?}");
                return Err(errors::usage(py, &why));
            }
        };
        let found = self.call(py, |graph, context| {
            let sources = sources_of(graph, sources, roots, seed)?;
            betweenness::centrality(graph, &betweenness::Options { sources, normalise }, context)
        })?;
        let numbers = (found.sources().to_vec(), found.pairs(), found.depth(), found.divisor(), found.seconds());
        (numbers, of_column(py, found.centrality())?).into_pyobject(py)
    }

    /// Figures of the sources, pairs, bounds of the diameter, seconds, and the columns.
    fn distances<'py>(
        &self,
        py: Python<'py>,
        sources: Option<Vec<u64>>,
        roots: u32,
        seed: u64,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.call(py, |graph, context| {
            let sources = sources_of(graph, sources, roots, seed)?;
            distances::sums(graph, &distances::Options { sources }, context)
        })?;
        let of_source =
            |of: &distances::OfSource| (of.source, of.reached, of.total, of.eccentricity, of.harmonic, of.closeness);
        let of_sources: Vec<_> = found.of_sources().iter().map(of_source).collect();
        let diameter = found.diameter();
        let bounds = (diameter.lower, diameter.upper, diameter.vertices);
        let columns =
            (of_column(py, found.sources())?, of_column(py, found.total())?, of_column(py, found.farthest())?);
        ((of_sources, found.pairs(), bounds, found.seconds()), columns).into_pyobject(py)
    }

    /// Iterations, the last change, whether it is below the tolerance, the sum of ranks, seconds, and the column.
    fn pagerank<'py>(
        &self,
        py: Python<'py>,
        damping: f64,
        variant: &str,
        tolerance: f64,
        iterations: Option<u64>,
        personalised: Vec<u64>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let variant = match variant {
            "gap" => pagerank::Variant::Gap { tolerance },
            "graphalytics" => pagerank::Variant::Graphalytics,
            other => {
                let why = format!("variant: expected \"gap\" or \"graphalytics\", found {other:?}");
                return Err(errors::usage(py, &why));
            }
        };
        let found = self.call(py, |graph, context| {
            let personalised = personalised.iter().map(|&id| graph.vertex(id)).collect::<gpugraph::Result<_>>()?;
            let options = pagerank::Options { damping, variant, iterations, personalised };
            pagerank::rank(graph, &options, context)
        })?;
        let numbers = (found.iterations(), found.change(), found.converged(), found.sum(), found.seconds());
        (numbers, of_column(py, found.ranks())?).into_pyobject(py)
    }
}

impl Graph {
    fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&gpugraph::Graph, &gpugraph::Context) -> gpugraph::Result<T> + Send,
    ) -> PyResult<T> {
        let graph = &*self.graph;
        self.context.get().call(py, |context| work(graph, context))
    }
}

/// Returns the sources with these ids, or those that are drawn.
fn sources_of(
    graph: &gpugraph::Graph,
    ids: Option<Vec<u64>>,
    roots: u32,
    seed: u64,
) -> gpugraph::Result<distances::Sources> {
    Ok(match ids {
        Some(ids) => {
            let vertices = ids.iter().map(|&id| graph.vertex(id)).collect::<gpugraph::Result<_>>()?;
            distances::Sources::Vertices(vertices)
        }
        None => distances::Sources::Drawn { roots, seed },
    })
}
