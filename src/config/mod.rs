//! Reads a job file and returns the validated [`Job`], or a report of every mistake at once.
//!
//! [`crate::jobfile`] parses the file into a tree whose values store their positions in the text. `overrides` inserts
//! the values of `--set`, `tables` checks the names of tables and keys, and `validate` reads each key. Each algorithm
//! reads its own table.

mod inline;
mod input_keys;
mod keys;
mod list;
mod name;
mod overrides;
pub mod spec;
mod tables;
mod validate;
mod weighted;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use toml::de::DeTable;

pub use input_keys::InputKeys;
pub use spec::{Device, Expect, GpuSharing, InputSpec, Job, Limits};
pub use tables::{TableInfo, tables};

use crate::algo::{self, Task};
use crate::error::{Error, Result};
use crate::jobfile::Section;
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::tree::TomlTable;

/// Maximum number of threads that a job or a command may use.
pub const MAX_THREADS: usize = 65_536;

/// Maximum size of a job file in bytes, so that an edge list that is named by mistake is not read as a whole.
const LONGEST: u64 = 2 << 20;

/// Reads and validates the job file at `path`. `overrides` are the arguments of `--set`, each `table.key=value`,
/// where the value is TOML or else plain text. If several overrides set one key, the last wins. An override that
/// names an edge source, or a source vertex of a search, removes the alternatives that the file names.
/// `run.device=cpu` removes the file's `run.gpu`.
///
/// # Errors
/// [`Error::Usage`] with a paragraph per mistake: line and column, what was expected and found, and the line with a
/// caret.
pub fn load(path: &Path, overrides: &[String]) -> Result<Job> {
    let text = read(path).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))?;
    parse(path, text, overrides, None)
}

/// Reads and validates the text of a job file, with overrides as in [`load`]. If `input` is given, it is the input of
/// the job, and the text must not name a source in `[input]`. Messages call the text `name`.
///
/// # Errors
/// Errors of [`load`].
pub fn of_text(name: &str, text: String, overrides: &[String], input: Option<InputSpec>) -> Result<Job> {
    parse(Path::new(name), text, overrides, input)
}

/// Reads and validates the text of one algorithm's table, header included, and returns the task that it describes.
///
/// # Errors
///
/// Errors of [`load`].
pub fn task(algorithm: &str, text: String) -> Result<Arc<dyn Task>> {
    let (parsed, syntax_errors) = DeTable::parse_recoverable(&text);
    let root = TomlTable::new(parsed.get_ref(), 0, 0);
    drop(parsed);
    let mut diagnostics = Diagnostics::new(algorithm.to_owned(), text, &[]);
    syntax_errors.iter().for_each(|error| diagnostics.syntax(error));
    tables::check(&root, &mut diagnostics);
    let task = algo::find(algorithm).and_then(|found| (found.parse)(&Section::of(&root, algorithm), &mut diagnostics));
    match (task, diagnostics.report()) {
        (Some(task), None) => Ok(task),
        (_, report) => Err(Error::Usage(report.unwrap_or_else(|| format!("no algorithm is called {algorithm}")))),
    }
}

fn read(path: &Path) -> Result<String, String> {
    let unreadable = |error| format!("can't read the job file: {error}");
    if path.is_dir() {
        return Err("expected a job file, found a folder; for a workdir, name the job file that created it".into());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!(
            "expected a job file, found more than {}; is it a graph? name it with [input] path",
            crate::size::show(LONGEST)
        ));
    }
    // A byte order mark would shift the columns of the first line.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("expected a job file of UTF-8 text, found something else at byte {at}; is it a graph? name it with [input] path")
    })
}

/// Parses and validates the text of a job file; `path` names the file in messages.
fn parse(path: &Path, text: String, overrides: &[String], input: Option<InputSpec>) -> Result<Job> {
    let (parsed, syntax_errors) = DeTable::parse_recoverable(&text);
    let mut root = TomlTable::new(parsed.get_ref(), 0, 0);
    drop(parsed);
    // If the file is an edge list, its first edge is already a parse error, and there is no table.
    let has_table = root.entries.iter().any(|entry| tables::tables().any(|known| known.name == entry.key));
    let is_foreign = !syntax_errors.is_empty() && !has_table;
    let mut diagnostics = Diagnostics::new(path.display().to_string(), text, overrides);
    for error in &syntax_errors {
        diagnostics.syntax(error);
    }
    for source in 1..=overrides.len() {
        overrides::apply(&mut root, source, &mut diagnostics);
    }
    let job = validate::job(&root, path, input, &mut diagnostics);
    match (job, diagnostics.report()) {
        (Some(job), None) => Ok(job),
        (_, report) => {
            let mut report = report.unwrap_or_else(|| format!("{}: not a job", path.display()));
            if is_foreign {
                let hint = "it has no table of a job file; is it a graph? name it with [input] path";
                report.push_str(&format!("\n{}: {hint}", path.display()));
            }
            Err(Error::Usage(report))
        }
    }
}
