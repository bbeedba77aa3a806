//! Builds a graph from edges: read from files, generated, or in memory.

use super::context::Context;
use super::graph::Graph;
use crate::config::InputSpec;
use crate::error::{Error, Result};
use crate::formats::input::memory::{EdgeList, MemoryEdges};
use crate::formats::{WeightType, WeightsOption as Weights};
use crate::store::durable::TemporaryFolder;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Keys of a job-file table and their values.
pub(super) type Keys = BTreeMap<String, KeyValue>;

/// Value of a job-file key. Unlike [`toml::Value`], it can represent integers from 2^63 on.
#[derive(Clone, Serialize)]
#[serde(untagged)]
pub(super) enum KeyValue {
    Text(String),
    Number(u64),
    Decimal(f64),
    Flag(bool),
    List(Vec<KeyValue>),
    Table(Keys),
}

/// Source of the edges of a graph.
#[derive(Clone, Default)]
enum Source {
    #[default]
    Files,
    Generator {
        kind: &'static str,
        scale: u32,
        edge_factor: f64,
        seed: u64,
    },
    Memory(Arc<dyn EdgeList>),
}

/// Builds a [`Graph`].
#[derive(Clone, Default)]
pub struct GraphBuilder {
    source: Source,
    paths: Vec<PathBuf>,
    options: Keys,
    vertices: Option<u64>,
    weights: Weights,
    spill_to: Option<PathBuf>,
}

impl GraphBuilder {
    /// Adds an input: a file, a folder of files, or a pattern such as `edges/*.txt.gz`. All inputs are read as one list
    /// of edges. The extension of a file selects its format, unless [`GraphBuilder::format`] names it.
    pub fn input(mut self, path: impl AsRef<Path>) -> GraphBuilder {
        self.paths.push(path.as_ref().to_owned());
        self
    }

    /// Takes the edges from memory. For edges in a vector, [`Graph::from_edges`] is simpler.
    pub fn edges(mut self, edges: Arc<dyn EdgeList>) -> GraphBuilder {
        self.source = Source::Memory(edges);
        self
    }

    /// Generates a Kronecker (R-MAT) graph with 2^`scale` vertices and `edge_factor` edges per vertex, as Graph500
    /// does.
    pub fn kronecker(self, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.generated("kronecker", scale, edge_factor, seed)
    }

    /// Generates a graph with 2^`scale` vertices and `edge_factor` edges per vertex, whose endpoints are uniformly
    /// random.
    pub fn uniform(self, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.generated("uniform", scale, edge_factor, seed)
    }

    fn generated(mut self, kind: &'static str, scale: u32, edge_factor: f64, seed: u64) -> GraphBuilder {
        self.source = Source::Generator { kind, scale, edge_factor, seed };
        self
    }

    /// Names the format of the input files, such as `text`, `mtx` or `u32`. `gpugraph help input` lists all formats.
    pub fn format(self, format: &str) -> GraphBuilder {
        self.option("format", KeyValue::Text(format.into()))
    }

    /// Names the columns of text or Parquet files that contain the source and the target of each edge. A third name,
    /// if given, is the column of weights.
    pub fn columns(self, names: &[&str]) -> GraphBuilder {
        self.option("columns", KeyValue::List(names.iter().map(|&name| KeyValue::Text(name.into())).collect()))
    }

    /// Like [`GraphBuilder::columns`], but selects the columns by 1-based index instead of name.
    pub fn columns_at(self, numbers: &[u32]) -> GraphBuilder {
        self.option("columns", KeyValue::List(numbers.iter().map(|&number| KeyValue::Number(number.into())).collect()))
    }

    /// Skips `lines` lines at the top of each text file, not counting comments and blank lines.
    pub fn skip_lines(self, lines: u32) -> GraphBuilder {
        self.option("skip_lines", KeyValue::Number(lines.into()))
    }

    /// Makes the graph directed. Searches and shortest paths then follow the direction of edges; triangle counts
    /// ignore it.
    pub fn directed(self, directed: bool) -> GraphBuilder {
        self.option("directed", KeyValue::Flag(directed))
    }

    /// Sets the id of the first vertex, in calls and in results: 0 or 1. The id 1 is allowed only for formats with
    /// 1-based ids.
    pub fn first_id(self, first: u32) -> GraphBuilder {
        self.option("first_id", KeyValue::Number(first.into()))
    }

    /// Reads the ids in text, CSV or Parquet files as strings, such as names and words ([`Graph::labels`]). An id of
    /// digits is a string, too.
    pub fn string_ids(self) -> GraphBuilder {
        self.option("ids", KeyValue::Text("string".into()))
    }

    /// Sets how edge weights are read. The default is [`Weights::Auto`]. Weights in memory keep their type; if another
    /// type is named, [`Self::build`] returns an error.
    pub fn weights(mut self, weights: Weights) -> GraphBuilder {
        self.weights = weights;
        self
    }

    /// Sets the number of vertices, so that ids without edges are vertices, too. It is for graphs whose edges are in
    /// memory.
    pub fn vertices(mut self, vertices: u64) -> GraphBuilder {
        self.vertices = Some(vertices);
        self
    }

    /// Stores the graph in `folder`, which becomes a workdir like that of a job. The next build with the same input
    /// reuses the stored graph, or resumes a build that was killed. [`Graph::open`] opens the stored graph without the
    /// input. Without this setting, the files are in the context's temporary folder and are deleted when the graph is
    /// dropped.
    pub fn spill_to(mut self, folder: impl Into<PathBuf>) -> GraphBuilder {
        self.spill_to = Some(folder.into());
        self
    }

    fn option(mut self, key: &str, value: KeyValue) -> GraphBuilder {
        self.options.insert(key.into(), value);
        self
    }

    /// Reads the edges and prepares the graph for algorithms.
    ///
    /// # Errors
    /// Errors of a job: [`ErrorKind::Usage`](crate::ErrorKind::Usage) for options that are mutually exclusive,
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for edges that can't be read,
    /// [`ErrorKind::Limit`](crate::ErrorKind::Limit) with the smallest sufficient limit, and others.
    pub fn build(self, context: &Context) -> Result<Graph> {
        let GraphBuilder { source, paths, mut options, vertices, mut weights, spill_to } = self;
        let input_spec = match source {
            Source::Memory(_) if !paths.is_empty() => {
                return Err(Error::Usage("a graph from files and from memory: name one source".into()));
            }
            Source::Memory(edges) => {
                if let Some(option) = options.keys().find(|option| !["directed", "first_id"].contains(&option.as_str()))
                {
                    return Err(Error::Usage(format!(
                        "{option} is for files, and edges in memory have no such option"
                    )));
                }
                if let Some(expected) = weights.named().filter(|&named| edges.weights() != Some(named)) {
                    let found = edges.weights().map_or("none", WeightType::name);
                    let why = format!("weights in memory: expected {expected}, found {found}; convert them before");
                    return Err(Error::Usage(why));
                }
                weights = if weights == Weights::None { Weights::None } else { Weights::Auto };
                let edges = if weights == Weights::None { Arc::new(Unweighted(edges)) } else { edges };
                Some(InputSpec::Memory(MemoryEdges::new(edges, vertices)?))
            }
            _ if vertices.is_some() => {
                let why = "vertices are for edges in memory: files say how many vertices they have";
                return Err(Error::Usage(why.into()));
            }
            Source::Generator { .. } if weights.named().is_some() => {
                let why = "weights of a generated graph: it has none; sssp::Options can draw some";
                return Err(Error::Usage(why.into()));
            }
            Source::Generator { kind, scale, edge_factor, seed } => {
                let scale = ("scale".to_owned(), KeyValue::Number(scale.into()));
                let edge_factor = ("edge_factor".to_owned(), KeyValue::Decimal(edge_factor));
                let seed = ("seed".to_owned(), KeyValue::Number(seed));
                options.insert(kind.into(), KeyValue::Table(Keys::from([scale, edge_factor, seed])));
                None
            }
            Source::Files => None,
        };
        if !paths.is_empty() {
            options.insert("weights".into(), KeyValue::Text(weights.name().into()));
            let paths = paths.iter().map(|path| path_text(path).map(KeyValue::Text)).collect::<Result<_>>()?;
            options.insert("path".into(), KeyValue::List(paths));
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

/// Returns `path` as a job file spells it. Job files expand variables in paths, so each `$` is doubled.
///
/// # Errors
/// [`Error::Usage`] if `path` is not UTF-8.
pub(super) fn path_text(path: &Path) -> Result<String> {
    let text = path.to_str().map(|text| text.replace('$', "$$"));
    text.ok_or_else(|| Error::Usage(format!("{}: expected a path in UTF-8; rename it", path.display())))
}

/// Number type of edge weights in memory: `u32`, `u64`, `f32` or `f64`.
pub trait Weight: Copy + Send + Sync + private::Sealed + 'static {}

mod private {
    use crate::formats::WeightType;

    /// Sealed trait of the number types of edge weights, with methods that only this crate may call.
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

/// A list of edges, stored in a vector.
pub(super) struct Pairs(pub(super) Vec<[u64; 2]>);

impl EdgeList for Pairs {
    fn edges(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}

/// A list of edges and a list of their weights, stored in two vectors of the same length.
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

/// Wrapper around a list of edges that hides the weights of the edges.
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
