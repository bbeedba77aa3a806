//! Arguments of `gpugraph graphalytics`.

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
    /// Write the results to this folder as NAME-BFS, NAME-PR and so on: one line per vertex, with its id and its value
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Options for starting the job
    #[command(flatten)]
    pub start: StartArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
