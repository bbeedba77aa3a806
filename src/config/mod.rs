//! The job file: the TOML as written → the validated [`Job`], or every mistake in it at once.
//!
//! The parser gives a tree of values with places (`tree`), `--set` is hung into it (`overrides`), the tables and
//! keys are compared with those there are (`keys`), and `validate` reads each key through `field`, which gathers
//! what is wrong in `diagnostics` instead of stopping at it. serde isn't used: it stops at the first mistake.

mod diagnostics;
pub mod duration;
mod effective;
mod expand;
mod field;
mod keys;
mod name;
mod overrides;
mod spec;
mod tree;
mod validate;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use toml::de::DeTable;

pub use spec::{Device, Expect, GpuSharing, InputSpec, Job, Limits, Output, OutputFormat, Random, Run, Triangle};

use crate::error::{Error, Result};
use diagnostics::Diagnostics;
use expand::Environment;
use tree::Table;

/// Most threads that a job or a command can be told to use.
pub const MAX_THREADS: usize = 65_536;

/// Names that `[input] format` may have besides `"auto"`.
pub const FORMATS: [&str; 11] = ["u32", "u64", "text", "mtx", "metis", "gr", "graph500", "npy", "npz", "sg", "wsg"];

/// No job file is longer; an edge list given in its place is not read to its end.
const LONGEST: u64 = 1 << 20;

/// Reads and validates the job file at `path`, under `overrides` as given to `--set`: `table.key=value`, the value
/// as TOML or, where it isn't any, as plain text. The last of several for one key wins. An override that names
/// another source of edges takes the place of the file's, and `run.device=cpu` that of the file's `run.gpu`.
///
/// # Errors
/// [`Error::Usage`] with one paragraph per mistake: where, what was expected and found, the line and a caret.
pub fn load(path: &Path, overrides: &[String]) -> Result<Job> {
    let text = read(path).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))?;
    parse(path, text, overrides, &|name| std::env::var_os(name))
}

fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error| format!("can't read the job file: {error}");
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!(
            "expected a job file, found more than {}; is it a graph? name it with [input] path",
            crate::size::show(LONGEST)
        ));
    }
    // A byte order mark would stand in the first line's column.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("expected a job file of UTF-8 text, found something else at byte {at}; is it a graph? name it with [input] path")
    })
}

/// [`load`] of a text, for the job file that `path` names.
fn parse(path: &Path, text: String, overrides: &[String], environment: Environment<'_>) -> Result<Job> {
    let (parsed, syntax_errors) = DeTable::parse_recoverable(&text);
    let mut root = Table::new(parsed.get_ref(), 0, 0);
    drop(parsed);
    let mut diagnostics = Diagnostics::new(path.display().to_string(), text, overrides);
    for error in &syntax_errors {
        diagnostics.syntax(error);
    }
    for source in 1..=overrides.len() {
        overrides::apply(&mut root, source, &mut diagnostics);
    }
    let job = validate::job(&root, path, environment, &mut diagnostics);
    match (job, diagnostics.report()) {
        (Some(job), None) => Ok(Job { text: effective::text(&root, overrides, &diagnostics), ..job }),
        (_, report) => Err(Error::Usage(report.unwrap_or_else(|| format!("{}: not a job", path.display())))),
    }
}
