//! Arguments of `gpugraph generate`.

use crate::config::MAX_THREADS;
use crate::generate::{Shape, WEIGHTS};
use crate::list::Kind;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;

/// Arguments of `gpugraph generate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gpugraph generate kronecker --scale 20 --edge-factor 16 --seed 1 -o s20.u32\n  \
    gpugraph generate product a.txt b.txt -o product.u64\n  \
    gpugraph generate list --length 10000000 --kind swapped -o swapped.list")]
pub struct GenerateArgs {
    /// What to generate: a kind of graph, or a linked list
    #[command(subcommand)]
    pub kind: GenerateKind,
}

/// Kinds of graphs that can be generated, and linked lists.
#[derive(Debug, Subcommand)]
pub enum GenerateKind {
    /// R-MAT with the Graph500 parameters, ids permuted
    #[command(after_help = "Example:\n  gpugraph generate kronecker --scale 20 --edge-factor 16 --seed 1 -o s20.u32")]
    Kronecker(RandomArgs),
    /// Both ends of every edge drawn uniformly
    #[command(after_help = "Example:\n  gpugraph generate uniform --scale 20 --edge-factor 2.5 --seed 7 -o u20.u32")]
    Uniform(RandomArgs),
    /// Both ends of every edge drawn uniformly, without self-loops, with weights (GTgraph's random graph)
    #[command(
        after_help = "Weights are written where the format holds some: text (.wel .txt), mtx, gr, metis, graph500.\n\n\
        Example:\n  gpugraph generate random --vertices 16384 --edges 163840 -o random.gr"
    )]
    Random(PairsArgs),
    /// R-MAT with given probabilities of quadrants (by default those of GTgraph), with weights
    #[command(after_help = "Example:\n  gpugraph generate rmat --scale 14 -a 0.45 -b 0.15 -c 0.15 -d 0.25 -o rmat.gr")]
    Rmat(RmatArgs),
    /// Cliques of random size, with weights and with fewer edges between cliques that are farther apart (SSCA#2)
    #[command(after_help = "Example:\n  gpugraph generate ssca2 --vertices 16384 --largest-clique 8 -o ssca2.gr")]
    Ssca2(Ssca2Args),
    /// A grid whose cells have edges to their four neighbours, with weights: long paths, as in a road network
    #[command(after_help = "Example:\n  gpugraph generate grid --rows 1024 --columns 1024 -o grid.gr")]
    Grid(GridArgs),
    /// The Kronecker product of two graphs; its triangle count is 6 times the product of their triangle counts
    #[command(after_help = "Example:\n  gpugraph generate product a.txt b.txt -o product.u64")]
    Product(ProductArgs),
    /// A linked list, as the successor of each element
    #[command(
        after_help = "Formats: list (.list .lst .txt: the length, then the successors, -1 for none), i32 and i64 \
        (little-endian), also packed (.gz .zst .bz2 .xz).\n\nExample:\n  \
        gpugraph generate list --length 10000000 --kind swapped -o swapped.list"
    )]
    List(ListArgs),
}

/// Parameters of a random graph.
#[derive(Debug, Args)]
pub struct RandomArgs {
    /// Binary logarithm of the number of vertices, from 1 to 40
    #[arg(long)]
    pub scale: u32,
    /// Number of edges per vertex, above 0; it may be fractional
    #[arg(long, default_value_t = 16.0)]
    pub edge_factor: f64,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    /// Options for the output file: its path, its format and the number of threads
    pub output: OutputArgs,
}

/// Weights of a generated graph, its seed and its output.
#[derive(Debug, Args)]
pub struct WeightedArgs {
    /// The smallest weight
    #[arg(long, default_value_t = *WEIGHTS.start())]
    pub min_weight: u32,
    /// The largest weight; weights are drawn uniformly from the smallest to the largest
    #[arg(long, default_value_t = *WEIGHTS.end())]
    pub max_weight: u32,
    /// Seed of the random numbers
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    /// Options for the output file: its path, its format and the number of threads
    pub output: OutputArgs,
}

/// Parameters of a random graph with weights.
#[derive(Debug, Args)]
pub struct PairsArgs {
    /// Number of vertices
    #[arg(long)]
    pub vertices: u64,
    /// Number of edges; by default ten per vertex
    #[arg(long)]
    pub edges: Option<u64>,
    #[command(flatten)]
    /// Options for the weights, the seed and the output file
    pub more: WeightedArgs,
}

/// Parameters of an R-MAT graph with weights.
#[derive(Debug, Args)]
pub struct RmatArgs {
    /// Binary logarithm of the number of vertices, from 1 to 40
    #[arg(long)]
    pub scale: u32,
    /// Number of edges; by default ten per vertex
    #[arg(long)]
    pub edges: Option<u64>,
    /// Probability of the quadrant with source and target in the lower half of ids
    #[arg(short, default_value_t = Shape::QUADRANTS[0])]
    pub a: f64,
    /// Probability of the quadrant with the source in the lower half of ids and the target in the upper
    #[arg(short, default_value_t = Shape::QUADRANTS[1])]
    pub b: f64,
    /// Probability of the quadrant with the source in the upper half of ids and the target in the lower
    #[arg(short, default_value_t = Shape::QUADRANTS[2])]
    pub c: f64,
    /// Probability of the quadrant with source and target in the upper half of ids
    #[arg(short, default_value_t = Shape::QUADRANTS[3])]
    pub d: f64,
    #[command(flatten)]
    /// Options for the weights, the seed and the output file
    pub more: WeightedArgs,
}

/// Parameters of an SSCA#2 graph: cliques joined by edges, with weights.
#[derive(Debug, Args)]
pub struct Ssca2Args {
    /// Number of vertices
    #[arg(long)]
    pub vertices: u64,
    /// Largest size of a clique (GTgraph's MaxCliqueSize); by default the cube root of the number of vertices
    #[arg(long)]
    pub largest_clique: Option<u64>,
    /// Probability that two vertices of a clique have an edge in one direction only (ProbUnidirectional) [default:
    /// 0.2]
    #[arg(long)]
    pub one_way: Option<f64>,
    /// Largest number of edges from one vertex to another (MaxParallelEdges) [default: 3]
    #[arg(long)]
    pub parallel: Option<u32>,
    /// Probability of an edge to the next clique; it halves whenever the distance doubles (ProbIntercliqueEdges)
    /// [default: 0.5]
    #[arg(long)]
    pub between: Option<f64>,
    #[command(flatten)]
    /// Options for the weights, the seed and the output file
    pub more: WeightedArgs,
}

/// Parameters of a grid with weights.
#[derive(Debug, Args)]
pub struct GridArgs {
    /// Number of rows
    #[arg(long)]
    pub rows: u64,
    /// Number of columns
    #[arg(long)]
    pub columns: u64,
    #[command(flatten)]
    /// Options for the weights, the seed and the output file
    pub more: WeightedArgs,
}

/// Factors and output of a Kronecker product of two graphs.
#[derive(Debug, Args)]
pub struct ProductArgs {
    /// First edge list
    pub a: PathBuf,
    /// Second edge list
    pub b: PathBuf,
    /// Format of both edge lists; by default, the file name extensions select it
    #[arg(long)]
    pub input_format: Option<String>,
    #[command(flatten)]
    /// Options for the output file: its path, its format and the number of threads
    pub output: OutputArgs,
}

/// Parameters of a list.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Number of elements
    #[arg(long)]
    pub length: u64,
    /// Order of the elements: swapped (the list of the published experiment), random, ordered, or runs (of 64
    /// elements, in random order)
    #[arg(long, value_parser = Kind::from_str)]
    pub kind: Kind,
    /// Seed of the random order
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    /// Options for the output file: its path, its format and the number of threads
    pub output: OutputArgs,
}

/// The output of `gpugraph generate`.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The file to write
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: PathBuf,
    /// Format of the file; by default, its extension selects it. A final extension .gz or .zst compresses the file
    #[arg(long)]
    pub format: Option<String>,
    /// Number of threads; 0 for all cores of this process
    #[arg(long, default_value_t = 0, value_parser = threads)]
    pub threads: usize,
}

/// Parses a number of threads. The largest number is the same as for `limits.threads` in a job file.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if threads <= MAX_THREADS => Ok(threads),
        _ => Err(format!("a whole number from 0 to {MAX_THREADS}")),
    }
}
