//! Inserts the values of `--set table.key=value` in the tree of the job file. The tree is validated afterwards, so the
//! same code checks overrides and the lines of the file.

use crate::config::input_keys::{OF_FILES, SOURCES};
use toml::de::DeValue;

use super::keys;
use crate::algo;
use crate::jobfile::advice::is_bare;
use crate::jobfile::diagnostics::{Diagnostics, TextSpan};
use crate::jobfile::tree::{TomlEntry, TomlNode, TomlTable, TomlValue};
use crate::quote::clip;

/// Maximum number of keys in the path of an override. The tables of job files are not nested deeper.
const DEEPEST: usize = 8;

/// Inserts one override in the tree; `source` is its 1-based index among the overrides. If several overrides set one
/// key, the last wins.
pub(super) fn apply(root: &mut TomlTable, source: usize, diagnostics: &mut Diagnostics) {
    let text = diagnostics.text(source).to_owned();
    let Some((path, value)) = text.split_once('=') else {
        diagnostics.error(&TextSpan::new(source, 0..text.len()), "expected table.key=value, found no '='");
        return;
    };
    let mut keys: Vec<(&str, TextSpan)> = Vec::new();
    let mut at = 0;
    for part in path.split('.') {
        let key = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        let place = TextSpan::new(source, start..start + key.len());
        if key.is_empty() || !key.chars().all(is_bare) {
            diagnostics.error(&place, format!("expected table.key=value, found '{}' before the '='", clip(path)));
            return;
        }
        keys.push((key, place));
        at += part.len() + 1;
        if keys.len() > DEEPEST {
            diagnostics.error(
                &TextSpan::new(source, 0..at.min(text.len())),
                format!("no table lies {DEEPEST} tables deep; expected table.key=value"),
            );
            return;
        }
    }
    let names: Vec<&str> = keys.iter().map(|(key, _)| *key).collect();
    let is_text = keys::TEXT.iter().any(|text| names == text);
    let node = value_node(value, is_text, path.len() + 1, source);
    insert(root, &keys, node);
    supersede(root, source, &keys);
}

/// Parses the value of an override as TOML. A value that is not TOML becomes a string, and so does a number or
/// boolean if the key's values are text (`is_text`). So a user needs no quotes beyond those for the shell. The value
/// begins at byte `start` of text `source`.
fn value_node(text: &str, is_text: bool, start: usize, source: usize) -> TomlNode {
    let trimmed = text.trim();
    let start = start + (text.len() - text.trim_start().len());
    let place = TextSpan::new(source, start..start + trimmed.len());
    if let Ok(parsed) = DeValue::parse(trimmed) {
        let takes = matches!(parsed.get_ref(), DeValue::String(_) | DeValue::Array(_) | DeValue::Table(_));
        if takes || !is_text {
            return TomlNode::new(parsed.get_ref(), place, start);
        }
    }
    TomlNode { place, value: TomlValue::String(trimmed.to_owned()) }
}

/// Sets the value at the path `keys` in the tree to `node`, and creates missing tables.
fn insert(table: &mut TomlTable, keys: &[(&str, TextSpan)], node: TomlNode) {
    let Some(((key, place), rest)) = keys.split_first() else { return };
    let node = match rest {
        [] => node,
        _ => {
            let mut inner = TomlTable::default();
            let existing = table.get_mut(key).map(|entry| &mut entry.node.value);
            if let Some(TomlValue::Table(existing)) = existing {
                return insert(existing, rest, node);
            }
            insert(&mut inner, rest, node);
            TomlNode { place: place.clone(), value: TomlValue::Table(inner) }
        }
    };
    let entry = TomlEntry { key: (*key).to_owned(), place: place.clone(), node };
    match table.get_mut(key) {
        Some(existing) => *existing = entry,
        None => table.entries.push(entry),
    }
}

/// Removes values of the job file that an override rules out, because `--set` can't unset them. If the override names
/// a source of edges, the other sources are removed. If it chooses the source vertices of a search, the keys that
/// choose them differently are removed. `run.device=cpu` removes the GPU's index.
fn supersede(root: &mut TomlTable, source: usize, keys: &[(&str, TextSpan)]) {
    let Some((name, _)) = keys.first() else { return };
    let Some(TomlValue::Table(table)) = root.get_mut(name).map(|entry| &mut entry.node.value) else { return };
    let given = |key: &str| table.get(key).filter(|entry| entry.place.source == source);
    let mut ruled_out: Vec<&str> = Vec::new();
    if *name == "input"
        && let Some(named) = SOURCES.into_iter().find(|key| given(key).is_some())
    {
        ruled_out.extend(SOURCES.iter().filter(|key| **key != named));
        // Options for files, and the expected size, apply only to `path`.
        ruled_out.extend(OF_FILES.into_iter().chain(["expect"]).filter(|_| named != "path"));
    }
    let alternatives = algo::find(name).map_or(&[][..], |algorithm| algorithm.alternatives);
    // A key with the value `false`, such as `forest = false`, chooses nothing, so it removes nothing.
    let asks = |key: &str| given(key).is_some_and(|entry| entry.node.value != TomlValue::Boolean(false));
    if let Some(named) = alternatives.iter().find(|key| asks(key)) {
        ruled_out.extend(alternatives.iter().filter(|key| *key != named));
    }
    if *name == "run" && given("device").is_some_and(|entry| entry.node.value == TomlValue::String("cpu".to_owned())) {
        ruled_out.push("gpu");
    }
    table.entries.retain(|entry| entry.place.is_override() || !ruled_out.contains(&entry.key.as_str()));
}
