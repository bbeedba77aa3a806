//! The algorithms of LDBC Graphalytics. For each, this module defines the job-file table that computes it and the
//! column with its result.

use super::properties::GraphProperties;
use crate::error::{Error, Result};
use crate::quote::clip;
use crate::results::mapped::MappedColumn;
use std::fmt;
use std::path::Path;
use toml::{Table, Value as TomlValue};

/// An algorithm of LDBC Graphalytics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
#[allow(missing_docs)] // their names say what they are
pub enum Algorithm {
    Bfs,
    Cdlp,
    Lcc,
    Pr,
    Sssp,
    Wcc,
}

/// How the result values of an algorithm are compared with a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Each value must equal the reference value.
    Exact,
    /// Labels must divide the vertices into the same sets as the labels in the reference. The labels themselves may
    /// differ.
    Equivalence,
    /// Each number may differ from the reference by a relative error of at most 0.0001.
    Epsilon,
}

impl Algorithm {
    /// All algorithms, in the order in which reports list them.
    pub const ALL: [Algorithm; 6] =
        [Algorithm::Bfs, Algorithm::Cdlp, Algorithm::Lcc, Algorithm::Pr, Algorithm::Sssp, Algorithm::Wcc];

    /// Returns the algorithms in `chosen` or, if that is empty, all algorithms that the properties of `graph` name,
    /// without duplicates.
    ///
    /// # Errors
    /// [`Error::Input`] if the properties name an unknown algorithm, or do not name an algorithm of `chosen`.
    pub fn of_graph(graph: &GraphProperties, chosen: &[Algorithm]) -> Result<Vec<Algorithm>> {
        let property = graph.required("algorithms")?;
        let names = property.value.split(',').map(str::trim).filter(|name| !name.is_empty());
        let known = Algorithm::ALL.map(Algorithm::name).join(", ");
        let parse = |name: &str| {
            let found = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name().eq_ignore_ascii_case(name));
            found.ok_or_else(|| {
                graph.wrong(property, format!("algorithms of {known}"), format!("remove {} or correct it", clip(name)))
            })
        };
        let named: Vec<Algorithm> = names.map(parse).collect::<Result<_>>()?;
        if let Some(absent) = chosen.iter().find(|algorithm| !named.contains(algorithm)) {
            let remedy = format!("leave {0} out of --algorithms, or add it here with its parameters", absent.name());
            return Err(graph.wrong(property, format!("{}, which --algorithms names", absent.name()), remedy));
        }
        let is_wanted = |algorithm: &Algorithm| if chosen.is_empty() { &named } else { chosen }.contains(algorithm);
        let wanted: Vec<Algorithm> = Algorithm::ALL.into_iter().filter(is_wanted).collect();
        match wanted.is_empty() {
            true => Err(graph.wrong(property, format!("algorithms of {known}"), "name one or several")),
            false => Ok(wanted),
        }
    }

    /// Returns the name of the algorithm in properties files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Bfs => "bfs",
            Algorithm::Cdlp => "cdlp",
            Algorithm::Lcc => "lcc",
            Algorithm::Pr => "pr",
            Algorithm::Sssp => "sssp",
            Algorithm::Wcc => "wcc",
        }
    }

    /// Returns the name of the file with the results of the algorithm on the graph named `graph`, such as `GRAPH-BFS`.
    pub fn file(self, graph: &str) -> String {
        format!("{graph}-{}", self.name().to_uppercase())
    }

    /// Returns true if the algorithm is a search, which begins at a source vertex.
    pub fn searches(self) -> bool {
        matches!(self, Algorithm::Bfs | Algorithm::Sssp)
    }

    /// Returns the name of the job-file table that computes the algorithm.
    pub fn table(self) -> &'static str {
        match self {
            Algorithm::Bfs => "bfs",
            Algorithm::Cdlp => "cdlp",
            Algorithm::Lcc => "triangle",
            Algorithm::Pr => "pagerank",
            Algorithm::Sssp => "sssp",
            Algorithm::Wcc => "components",
        }
    }

    /// Returns the keys for the algorithm's job-file table ([`Self::table`]), with the parameters that the properties
    /// of `graph` define.
    ///
    /// # Errors
    /// [`Error::Input`] if a parameter is missing or wrong.
    pub fn keys(self, graph: &GraphProperties) -> Result<Table> {
        let whole = |key: &str| graph.value::<i64>(key, "a whole number").map(TomlValue::Integer);
        let search = |source: TomlValue| {
            let keys = [("sources", source), ("write", true.into()), ("validate", false.into())];
            keys.to_vec()
        };
        let keys = match self {
            Algorithm::Bfs => search(whole("bfs.source-vertex")?),
            Algorithm::Sssp => search(whole("sssp.source-vertex")?),
            Algorithm::Cdlp => vec![("iterations", whole("cdlp.max-iterations")?)],
            // In an undirected graph, the number of links of a vertex is twice its number of triangles.
            Algorithm::Lcc => vec![("clustering", "directed".into())],
            Algorithm::Pr => vec![
                ("variant", "graphalytics".into()),
                ("damping", graph.value::<f64>("pr.damping-factor", "a number from 0 to below 1")?.into()),
                ("iterations", whole("pr.num-iterations")?),
            ],
            Algorithm::Wcc => Vec::new(),
        };
        Ok(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// Returns how the result values are compared with a reference.
    pub fn comparison(self) -> Comparison {
        match self {
            Algorithm::Bfs | Algorithm::Cdlp => Comparison::Exact,
            Algorithm::Wcc => Comparison::Equivalence,
            Algorithm::Lcc | Algorithm::Pr | Algorithm::Sssp => Comparison::Epsilon,
        }
    }

    /// Opens the column with the algorithm's result in `workdir`. For a search, it is the column for the source vertex
    /// that the properties of `graph` define.
    ///
    /// # Errors
    /// Errors of [`MappedColumn::open`].
    pub fn column(self, workdir: &Path, graph: &GraphProperties) -> Result<ResultColumn> {
        let path = |name: &str| workdir.join("out").join(name).with_extension("npy");
        let of_search = |name: &str| {
            let source: u64 = graph.value(&format!("{}.source-vertex", self.name()), "a whole number")?;
            Ok::<_, Error>(path(&format!("{}/{source}/{name}", self.table())))
        };
        Ok(match self {
            Algorithm::Bfs => ResultColumn::Levels(MappedColumn::open(&of_search("level")?)?),
            Algorithm::Sssp => ResultColumn::Numbers(MappedColumn::open(&of_search("distance")?)?),
            Algorithm::Cdlp => ResultColumn::Labels(MappedColumn::open(&path("cdlp/label"))?),
            Algorithm::Wcc => ResultColumn::Labels(MappedColumn::open(&path("components/component"))?),
            Algorithm::Lcc => ResultColumn::Numbers(MappedColumn::open(&path("clustering"))?),
            Algorithm::Pr => ResultColumn::Numbers(MappedColumn::open(&path("pagerank/rank"))?),
        })
    }
}

/// Result column of an algorithm: one value per vertex, in ascending order of vertex ids.
#[derive(Debug)]
pub enum ResultColumn {
    /// Levels of a breadth-first search; -1 for an unreachable vertex.
    Levels(MappedColumn<i32>),
    /// Labels of communities or components, which are vertex ids.
    Labels(MappedColumn<i64>),
    /// PageRank values, clustering coefficients or distances.
    Numbers(MappedColumn<f64>),
}

/// Result of one vertex. [`fmt::Display`] writes it in the format of Graphalytics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum VertexResult {
    /// A level or a label.
    Whole(i64),
    /// A PageRank value, a clustering coefficient or a distance.
    Number(f64),
}

impl ResultColumn {
    /// Returns the result of the vertex in row `row`. The level of an unreachable vertex becomes `i64::MAX`.
    pub fn get(&self, row: usize) -> VertexResult {
        match self {
            ResultColumn::Levels(levels) => match levels.values()[row] {
                ..0 => VertexResult::Whole(i64::MAX),
                level => VertexResult::Whole(level.into()),
            },
            ResultColumn::Labels(labels) => VertexResult::Whole(labels.values()[row]),
            ResultColumn::Numbers(numbers) => VertexResult::Number(numbers.values()[row]),
        }
    }

    /// Parses a value of a reference file; `None` if it is not a value of this column's type.
    pub fn parse(&self, text: &str) -> Option<VertexResult> {
        match self {
            ResultColumn::Levels(_) | ResultColumn::Labels(_) => text.parse().ok().map(VertexResult::Whole),
            ResultColumn::Numbers(_) => {
                text.parse().ok().filter(|number: &f64| !number.is_nan()).map(VertexResult::Number)
            }
        }
    }
}

impl fmt::Display for VertexResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VertexResult::Whole(number) => number.fmt(f),
            VertexResult::Number(number) if number.is_infinite() => f.write_str("infinity"),
            // The shortest decimal representation that parses to the same number.
            VertexResult::Number(number) => write!(f, "{number:?}"),
        }
    }
}
