//! Converts the tree of a job file to a [`Job`]: checks ranges and conflicts, and fills in defaults.

use crate::config::input_keys::{OF_FILES, SOURCES};
use std::path::Path;
use std::sync::Arc;

use super::inline::InlineTable;
use super::spec::{Device, Expect, InputSpec, Job, Limits, Random, Run};
use super::{InputKeys, keys, list, name, tables, weighted};
use crate::algo::{ALGORITHMS, Task};
use crate::formats::{Columns, Format, IdKind, TextOptions, WeightsOption};
use crate::generate::{MAX_EDGE_FACTOR, SCALES};
use crate::graph::direction::Direction;
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::field::{Field, Section};
use crate::jobfile::tree::TomlTable;
use crate::list::ListFormat;

/// Converts `root`, the tree of the job file `file`, to a job. `given`, if any, replaces the input that `[input]`
/// describes. Returns `None` after a mistake, which has then been reported to `diagnostics`.
pub(super) fn job(
    root: &TomlTable,
    file: &Path,
    given: Option<InputSpec>,
    diagnostics: &mut Diagnostics,
) -> Option<Job> {
    tables::check(root, diagnostics);
    let section = Section::of(root, "job");
    let is_on_list = given.as_ref().map_or_else(|| list::is_asked_for(root, diagnostics), InputSpec::is_list);
    let input = match (given, is_on_list) {
        (Some(given), _) => Some(given),
        (None, false) => input(root, diagnostics),
        (None, true) => list::input(root, diagnostics),
    };
    let name = name(&section, input.as_ref(), file, diagnostics);
    let workdir = match keys::job::WORKDIR.field(&section) {
        Some(field) => field.path(diagnostics),
        None => name.as_ref().map(|name| Path::new("gpugraph.work").join(name)),
    };
    let scratch = keys::job::SCRATCH.field(&section).and_then(|field| field.path(diagnostics));
    let keep = keys::job::KEEP.read_or_default(&section, diagnostics);
    refuse_own_workdir(root, input.as_ref(), workdir.as_deref(), diagnostics);
    let of_input = Section::of(root, "input");
    let directed = keys::input::DIRECTED.read_or_default(&of_input, diagnostics);
    let first_id = keys::input::FIRST_ID.read_or_default(&of_input, diagnostics);
    let expect = expect(&of_input, diagnostics);
    let limits = limits(&Section::of(root, "limits"), diagnostics);
    let run = run(&Section::of(root, "run"), diagnostics);
    let format = keys::output::FORMAT.read_or_default(&Section::of(root, "output"), diagnostics);
    let tasks = tasks(root, diagnostics);
    check_weights_are_read(root, input.as_ref(), &tasks, diagnostics);
    check_direction(input.as_ref(), directed, &tasks, diagnostics);
    check_input_is_available(input.as_ref(), &tasks, diagnostics);
    // A job without tasks prepares its graph for other jobs. A list needs no preparation, so nothing is kept.
    let keep = !is_on_list && (keep || tasks.is_empty());
    Some(Job {
        file: file.to_owned(),
        name: name?,
        workdir: workdir?,
        scratch,
        keep,
        input: input?,
        directed,
        first_id,
        keeps_direction: false,
        keeps_weights: false,
        input_keys: InputKeys::of(root.get("input").and_then(|entry| entry.node.as_table())),
        expect,
        limits,
        run,
        format,
        tasks,
    })
}

/// Returns the job's name, which is also a folder name and appears in reports and in the scheduler's queue. The
/// default is the name of the input, so that results of different graphs do not collide. If the input has no name,
/// the default is the job file's name without its extension.
fn name(
    section: &Section<'_>,
    input: Option<&InputSpec>,
    file: &Path,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    let Some(field) = keys::job::NAME.field(section) else {
        // A mistake in the input has been reported already.
        if let Some(name) = name::of_input(input?) {
            return Some(name);
        }
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let refuse = |why| format!("the file's name can't be the name of the job ({why}): add name to [job]");
        return check_name(stem).map_err(|why| diagnostics.missing(refuse(why))).ok().map(|()| stem.to_owned());
    };
    let name = field.string(diagnostics)?;
    check_name(name).map_err(|why| field.error(why, diagnostics)).ok().map(|()| name.to_owned())
}

fn check_name(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        Err("a name can't be empty")
    } else if name.contains(['/', '\\']) {
        Err("a name can't contain a slash: choose the place with workdir")
    } else if name.starts_with(['.', '-']) {
        Err("a name can't begin with '.' or '-'")
    } else if name.chars().any(char::is_control) || name.trim() != name {
        Err("a name can't contain control characters, nor begin or end with a blank")
    } else if name.len() > 100 {
        Err("a name can't be longer than 100 bytes")
    } else {
        Ok(())
    }
}

fn input(root: &TomlTable, diagnostics: &mut Diagnostics) -> Option<InputSpec> {
    let section = Section::of(root, "input");
    let mut formats = vec![("auto", None)];
    formats.extend(Format::ALL.map(|format| (format.name(), Some(format.name()))));
    formats.extend(ListFormat::ALL.map(|format| (format.name(), Some(format.name()))));
    let format = keys::input::FORMAT.field(&section).and_then(|field| field.choice(&formats, diagnostics)).flatten();
    list::refuse(&section, format, diagnostics);
    let text = text(&section, format, diagnostics);
    let format = format.and_then(|name| name.parse().ok());
    let weights = keys::input::WEIGHTS.read_or_default(&section, diagnostics);
    let mut sources: Vec<(&str, Field<'_>)> =
        SOURCES.iter().filter_map(|key| Some((*key, section.get(key)?))).collect();
    sources.sort_by(|(_, a), (_, b)| a.entry.place.cmp(&b.entry.place));
    if sources.is_empty() {
        let remedy = "add path = \"FILE\", prepared = \"WORKDIR\", kronecker, uniform, random, rmat, ssca2 or grid";
        match root.get("input") {
            Some(entry) if entry.node.as_table().is_some() => {
                diagnostics.error(&entry.place, format!("[input] names no edges: {remedy}"));
            }
            Some(_) => {}
            None => diagnostics.missing(format!("there is no [input]: {remedy}")),
        }
    }
    if let [(_, first), others @ ..] = sources.as_slice() {
        for (_, other) in others {
            let (first, at) = (&first.name, diagnostics.describe(&first.entry.place));
            other.refuse(&format!("and {first} ({at}) exclude each other: a job has one of them"), diagnostics);
        }
        let is_of_files = sources.iter().any(|(key, _)| *key == "path");
        for field in OF_FILES.iter().filter_map(|key| section.get(key)).filter(|_| !is_of_files) {
            field.refuse(&format!("is for input.path, and this job has {}", first.name), diagnostics);
        }
    }
    let recursive = keys::input::RECURSIVE.read_or_default(&section, diagnostics);
    let vertices = keys::input::VERTICES.field(&section).and_then(|field| field.path(diagnostics));
    // If the job file names several sources, the values of all of them are checked, although the job will be refused.
    let mut spec = None;
    for (key, field) in sources {
        spec = match key {
            "path" => {
                let (text, vertices) = (text.clone(), vertices.clone());
                let files = |paths| InputSpec::Files { paths, format, recursive, text, vertices, weights };
                field.paths(diagnostics).map(files)
            }
            "prepared" => field.path(diagnostics).map(InputSpec::Prepared),
            "kronecker" => random(&field, diagnostics).map(InputSpec::Kronecker),
            "uniform" => random(&field, diagnostics).map(InputSpec::Uniform),
            // In a job on graphs, the key `list` has been reported as a mistake before.
            "list" => None,
            kind => weighted::read(kind, &field, diagnostics).map(InputSpec::Weighted),
        };
    }
    spec
}

/// Refuses tasks that do not support the direction of the job: tasks that need undirected edges if the job is
/// directed, and tasks that need directed edges if it is not. Tasks on a prepared graph are checked later, when it is
/// known whether that graph is directed.
fn check_direction(input: Option<&InputSpec>, directed: bool, tasks: &[Arc<dyn Task>], diagnostics: &mut Diagnostics) {
    if matches!(input, None | Some(InputSpec::Prepared(_))) {
        return;
    }
    let refused = tasks.iter().filter_map(|task| task.refuses(Direction::of(directed)));
    refused.for_each(|why| diagnostics.missing(why));
}

/// Refuses tasks that read the edges of the original input, if the job's input is a prepared graph.
fn check_input_is_available(input: Option<&InputSpec>, tasks: &[Arc<dyn Task>], diagnostics: &mut Diagnostics) {
    let reads = |task: &&Arc<dyn Task>| task.needs().input;
    if let (Some(InputSpec::Prepared(_)), Some(task)) = (input, tasks.iter().find(reads)) {
        let name = task.name();
        diagnostics.missing(format!(
            "[{name}] counts edges that the input repeats, which a prepared graph has once: name the input itself as path in [input], in \
             place of prepared"
        ));
    }
}

/// Refuses `weights = "none"` if a task reads weights of the input.
fn check_weights_are_read(
    root: &TomlTable,
    input: Option<&InputSpec>,
    tasks: &[Arc<dyn Task>],
    diagnostics: &mut Diagnostics,
) {
    let reads = |task: &&Arc<dyn Task>| task.needs().weights;
    if let Some(field) = keys::input::WEIGHTS.field(&Section::of(root, "input"))
        && input.is_some_and(|input| input.weights() == WeightsOption::None)
        && let Some(task) = tasks.iter().find(reads)
    {
        let name = task.name();
        field.error(&format!("\"none\" leaves weights out, and [{name}] reads those of the input"), diagnostics);
    }
}

/// Reads `columns`, `skip_lines` and `ids`, and refuses them for formats other than text. `columns` and `ids` are
/// allowed for Parquet, too.
fn text(section: &Section<'_>, format: Option<&str>, diagnostics: &mut Diagnostics) -> TextOptions {
    let (columns, skip_lines) = (keys::input::COLUMNS.field(section), keys::input::SKIP_LINES.field(section));
    let ids = keys::input::IDS.field(section);
    let options = TextOptions {
        columns: keys::input::COLUMNS.read_or_default(section, diagnostics),
        skip_lines: keys::input::SKIP_LINES.read_or_default(section, diagnostics),
        ids: keys::input::IDS.read_or_default(section, diagnostics),
    };
    if let Some(format) = format.filter(|format| *format != Format::Text.name()) {
        let columns = columns.filter(|_| options.columns != Columns::Auto && format != Format::Parquet.name());
        let skip_lines = skip_lines.filter(|_| options.skip_lines.unwrap_or(0) > 0);
        let ids = ids.filter(|_| options.ids == IdKind::String && format != Format::Parquet.name());
        for (field, what) in [(columns, "text and Parquet"), (ids, "text and Parquet"), (skip_lines, "text")] {
            if let Some(field) = field {
                field.refuse(&format!("is for {what}, and input.format is \"{format}\""), diagnostics);
            }
        }
    }
    options
}

/// Refuses `[input] prepared` if it names the job's own workdir.
fn refuse_own_workdir(
    root: &TomlTable,
    input: Option<&InputSpec>,
    workdir: Option<&Path>,
    diagnostics: &mut Diagnostics,
) {
    let section = Section::of(root, "input");
    if let (Some(InputSpec::Prepared(kept)), Some(field)) = (input, keys::input::PREPARED.field(&section))
        && workdir == Some(kept)
    {
        field.error("is this job's own workdir: name that of the job that kept the graph", diagnostics);
    }
}

fn random(field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<Random> {
    let mut table = InlineTable::of(field, &keys::RANDOM, diagnostics)?;
    let scale = table.number("scale", SCALES, Err("add it, for a graph of 2^scale vertices"));
    // Graph500 has 16 edges per vertex.
    let factor = |field: &Field<'_>, diagnostics: &mut _| field.positive(MAX_EDGE_FACTOR, diagnostics);
    let edge_factor = table.other("edge_factor", 16.0, factor);
    let seed = table.number("seed", 0..=u64::MAX, Ok(1));
    Some(Random { scale: scale?, edge_factor: edge_factor?, seed: seed? })
}

/// Reads `[input] expect`, the expected size of files. It is refused for other sources, whose size is known.
fn expect(section: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Expect> {
    let field = keys::input::EXPECT.field(section)?;
    if keys::input::PATH.field(section).is_none() {
        // The key was refused already if the job has a list.
        if keys::input::LIST.field(section).is_none() {
            field.refuse("is for input.path, and this job has none", diagnostics);
        }
        return None;
    }
    let mut table = InlineTable::of(&field, &keys::EXPECT, diagnostics)?;
    // The upper limit is a hundred times the size of any known graph.
    let mut number = |key| table.number(key, 1..=1 << 48, Err("write { edges = 1000000, ids = 50000 }"));
    let (edges, ids) = (number("edges"), number("ids"));
    Some(Expect { edges: edges?, ids: ids? })
}

fn limits(section: &Section<'_>, diagnostics: &mut Diagnostics) -> Limits {
    Limits {
        host_memory: keys::limits::HOST_MEMORY.read_or_default(section, diagnostics),
        gpu_memory: keys::limits::GPU_MEMORY.read_or_default(section, diagnostics),
        threads: keys::limits::THREADS.read_or_default(section, diagnostics),
    }
}

fn run(section: &Section<'_>, diagnostics: &mut Diagnostics) -> Run {
    let device = keys::run::DEVICE.read_or_default(section, diagnostics);
    let gpu = keys::run::GPU.read_or_default(section, diagnostics);
    if let (Device::Cpu, Some(device), Some(gpu)) =
        (device, keys::run::DEVICE.field(section), keys::run::GPU.field(section))
    {
        let at = diagnostics.describe(&device.entry.place);
        let message = format!("and run.device = \"cpu\" ({at}) exclude each other: remove one of them");
        gpu.refuse(&message, diagnostics);
    }
    Run {
        device,
        gpu,
        gpu_sharing: keys::run::GPU_SHARING.read_or_default(section, diagnostics),
        trials: keys::run::TRIALS.read_or_default(section, diagnostics),
        log_interval: keys::run::LOG_INTERVAL.read_or_default(section, diagnostics),
        disk_check: keys::run::DISK_CHECK.read_or_default(section, diagnostics),
        energy: keys::run::ENERGY.read_or_default(section, diagnostics),
    }
}

/// Reads the tables of algorithms in the registry's order.
fn tasks(root: &TomlTable, diagnostics: &mut Diagnostics) -> Vec<Arc<dyn Task>> {
    let given = ALGORITHMS.iter().filter(|algorithm| root.get(algorithm.name).is_some());
    given.filter_map(|algorithm| (algorithm.parse)(&Section::of(root, algorithm.name), diagnostics)).collect()
}
