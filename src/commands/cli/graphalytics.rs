//! The arguments of `gpugraph graphalytics`.

use super::StartArgs;
use crate::commands::graphalytics::algorithm::Algorithm;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `gpugraph graphalytics`.
#[derive(Debug, Args)]
pub struct GraphalyticsArgs {
    /// The properties file of the graph; it names the vertex file and the edge file
    #[arg(value_name = "GRAPH.properties")]
    pub properties: PathBuf,
    /// Run only these algorithms; by default all that the properties file names
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    pub algorithms: Vec<Algorithm>,
    /// Write the results to this folder as NAME-BFS, NAME-PR and so on: a line with vertex and value for each vertex
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// How the job is started
    #[command(flatten)]
    pub start: StartArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
