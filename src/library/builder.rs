//! Builds a graph from one of its sources: files, a generator, or edges in memory.

use super::context::Context;
use super::graph::Graph;
use crate::config::InputSpec;
use crate::error::{Error, Result};
use crate::formats::input::memory::{EdgeList, MemoryEdges};
use crate::formats::{WeightType, WeightsOption as Weights};
use crate::store::durable::TemporaryFolder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::{Table, Value as TomlValue};

/// Where the edges of a graph come from.
#[derive(Clone)]
enum Source {
    /// Keys of `[input]` in a job file.
    Keys(Table),
    Memory(Arc<dyn EdgeList>),
}

impl Default for Source {
    fn default() -> Source {
        Source::Keys(Table::new())
    }
}

/// Builds a [`Graph`].
#[derive(Clone, Default)]
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
    /// extension of a file selects its format, unless [`GraphBuilder::format`] names it.
    pub fn input(mut self, path: impl AsRef<Path>) -> GraphBuilder {
        self.paths.push(path.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Reads edges from memory. [`Graph::from_edges`] is shorter for vectors.
    pub fn edges(mut self, edges: Arc<dyn EdgeList>) -> GraphBuilder {
        self.source = Source::Memory(edges);
        self
    }

    /// Generates a Kronecker (R-MAT) graph of 2^`scale` vertices and `edge_factor` edges per vertex, as Graph500 does.
    pub fn kronecker(self, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.generated("kronecker", scale, edge_factor, seed)
    }

    /// Generates a graph of 2^`scale` vertices and `edge_factor` edges per vertex, with random ends.
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

    /// Names the format of the files, such as `text`, `mtx` or `u32`. `gpugraph help input` lists all formats.
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

    /// Reads the ids of text, CSV or Parquet as strings, such as names and words ([`Graph::labels`]). An id of digits
    /// is a string, too.
    pub fn string_ids(self) -> GraphBuilder {
        self.option("ids", TomlValue::String("string".into()))
    }

    /// Sets how weights are read. The default is [`Weights::Auto`]. Weights in memory keep their type; if another one
    /// is named, [`Self::build`] refuses them.
    pub fn weights(mut self, weights: Weights) -> GraphBuilder {
        self.weights = weights;
        self
    }

    /// Sets the number of vertices of a graph from memory, if ids without edges are vertices, too.
    pub fn vertices(mut self, vertices: u64) -> GraphBuilder {
        self.vertices = Some(vertices);
        self
    }

    /// Keeps the graph in this folder, which becomes a workdir like that of a job. The next build with the same input
    /// finds it there, [`Graph::open`] opens it without the input, and a later build resumes one that was killed.
    /// Without this setting, the graph is in the context's temporary folder, and is removed when the graph is dropped.
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
    /// Errors of a job: [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that exclude each other,
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for edges that can't be read,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) with the limit that is enough, and others.
    pub fn build(self, context: &Context) -> Result<Graph> {
        let GraphBuilder { source, paths, mut options, vertices, mut weights, spill_to } = self;
        let input_spec = match source {
            Source::Memory(_) if !paths.is_empty() => {
                return Err(Error::Usage("a graph from files and from memory: name one source".into()));
            }
            Source::Memory(edges) => {
                if let Some(expected) = weights.named().filter(|&named| edges.weights() != Some(named)) {
                    let found = edges.weights().map_or("none", WeightType::name);
                    let why = format!("weights in memory: expected {expected}, found {found}; convert them before");
                    return Err(Error::Usage(why));
                }
                weights = if weights == Weights::None { Weights::None } else { Weights::Auto };
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
        Graph::open_session(context, options, input_spec, weights, workdir, temporary)
    }
}

/// A number type that weights in memory may have: `u32`, `u64`, `f32` or `f64`.
pub trait Weight: Copy + Send + Sync + private::Sealed + 'static {}

mod private {
    use crate::formats::WeightType;

    /// Methods of weights that only this crate may call.
    pub trait Sealed {
        const KIND: WeightType;

        fn bits(self) -> u64;
    }

    macro_rules! weight {
        ($($number:ty, $kind:ident, $bits:expr;)*) => {$(
            impl super::Weight for $number {}

            impl Sealed for $number {
                const KIND: WeightType = WeightType::$kind;

                fn bits(self) -> u64 {
                    $bits(self)
                }
            }
        )*};
    }

    weight! {
        u32, U32, u64::from;
        u64, U64, u64::from;
        f32, F32, |number: f32| number.to_bits().into();
        f64, F64, f64::to_bits;
    }
}

/// Edges in a vector.
pub(super) struct Pairs(pub(super) Vec<[u64; 2]>);

impl EdgeList for Pairs {
    fn edges(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}

/// Edges with weights in two vectors of the same length.
pub(super) struct WeightedPairs<W> {
    pub(super) pairs: Pairs,
    pub(super) weights: Vec<W>,
}

impl<W: Weight> EdgeList for WeightedPairs<W> {
    fn edges(&self) -> u64 {
        self.pairs.edges()
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        self.pairs.read(first, out);
    }

    fn weights(&self) -> Option<WeightType> {
        Some(W::KIND)
    }

    fn read_weights(&self, first: u64, out: &mut [u32]) {
        let weights = &self.weights[first as usize..];
        for (words, weight) in out.chunks_exact_mut(W::KIND.words()).zip(weights) {
            let bits = weight.bits();
            words[0] = bits as u32;
            if let Some(high) = words.get_mut(1) {
                *high = (bits >> 32) as u32;
            }
        }
    }
}

/// Edges whose weights are left out.
pub(super) struct Unweighted(pub(super) Arc<dyn EdgeList>);

impl EdgeList for Unweighted {
    fn edges(&self) -> u64 {
        self.0.edges()
    }

    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        self.0.read(first, out);
    }

    fn read_narrow(&self, first: u64, out: &mut [[u32; 2]]) {
        self.0.read_narrow(first, out);
    }
}
