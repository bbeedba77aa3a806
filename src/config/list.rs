//! Reads `[input]` of a list-ranking job.

use super::inline::InlineTable;
use super::input_keys::{OF_EDGES, OF_FILES, SOURCES};
use super::spec::InputSpec;
use crate::algo::ALGORITHMS;
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::field::{Field, Section};
use crate::jobfile::tree::TomlTable;
use crate::list::{Generated, Kind, ListFormat, MAX_LENGTH};

/// Keys of the inline table `[input] list`, which describes a generated list.
const LIST: [&str; 3] = ["length", "kind", "seed"];

/// Returns true if an algorithm of the job has a list as its input, as list ranking does. Refuses a job that has both
/// algorithms on lists and algorithms on graphs.
pub(super) fn is_asked_for(root: &TomlTable, diagnostics: &mut Diagnostics) -> bool {
    let given = |is_on_list| {
        ALGORITHMS.iter().find(|algorithm| algorithm.is_on_list == is_on_list && root.get(algorithm.name).is_some())
    };
    match (given(true), given(false)) {
        (Some(list), Some(graph)) => {
            let (list, graph) = (list.name, graph.name);
            if let Some(entry) = root.get(graph) {
                let message = format!(
                    "[{graph}] needs a graph and [{list}] needs a list, but a job has one input: write two jobs"
                );
                diagnostics.error(&entry.place, message);
            }
            true
        }
        (list, _) => list.is_some(),
    }
}

/// Reads the input of a list-ranking job: one file, or the parameters of a generated list.
pub(super) fn input(root: &TomlTable, diagnostics: &mut Diagnostics) -> Option<InputSpec> {
    let section = Section::of(root, "input");
    let mut formats = vec![("auto", None)];
    formats.extend(ListFormat::ALL.map(|format| (format.name(), Some(format))));
    let format_field = section.get("format");
    let format = format_field.as_ref().and_then(|field| field.choice(&formats, diagnostics)).flatten();
    let of_graphs = SOURCES.into_iter().chain(OF_FILES).chain(OF_EDGES).chain(["expect"]);
    let of_graphs = of_graphs.filter(|key| !["path", "list", "format"].contains(key));
    for field in of_graphs.filter_map(|key| section.get(key)) {
        field.refuse("is for graphs, and this job ranks a list", diagnostics);
    }
    match (section.get("path"), section.get("list")) {
        (Some(path), None) => match path.paths(diagnostics)?.as_slice() {
            [one] => Some(InputSpec::ListFile { path: one.clone(), format }),
            _ => {
                path.error("a list is one file", diagnostics);
                None
            }
        },
        (None, Some(list)) => {
            if let Some(field) = format_field {
                field.refuse(&format!("is for input.path, and this job has {}", list.name), diagnostics);
            }
            generated(&list, diagnostics).map(InputSpec::List)
        }
        (Some(path), Some(list)) => {
            let message = format!("and {} exclude each other: a job has one of them", path.name);
            list.refuse(&message, diagnostics);
            None
        }
        (None, None) => {
            let message =
                "[input] names no list: add path = \"FILE\" or list = { length = 10_000_000, kind = \"random\" }";
            match root.get("input") {
                Some(entry) => diagnostics.error(&entry.place, message.to_owned()),
                None => diagnostics.missing(message.to_owned()),
            }
            None
        }
    }
}

fn generated(field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<Generated> {
    let mut table = InlineTable::of(field, &LIST, diagnostics)?;
    let length = table.number("length", 0..=MAX_LENGTH, Err("add it, the number of elements"));
    let kinds = Kind::ALL.map(|kind| (kind.name(), kind));
    let kind = table.other("kind", Kind::Random, |field, diagnostics| field.choice(&kinds, diagnostics));
    let seed = table.number("seed", 0..=u64::MAX, Ok(1));
    let list = Generated::new(length?, kind?, seed?);
    list.map_err(|e| table.error(&e.to_string())).ok()
}

/// Refuses keys for lists in a job on a graph. `format` is the value of `[input] format`.
pub(super) fn refuse(section: &Section<'_>, format: Option<&str>, diagnostics: &mut Diagnostics) {
    let is_of_lists = ListFormat::ALL.iter().any(|of_lists| Some(of_lists.name()) == format);
    for field in [section.get("list"), section.get("format").filter(|_| is_of_lists)].into_iter().flatten() {
        field.refuse("is for lists, and this job has no [listrank]", diagnostics);
    }
}
