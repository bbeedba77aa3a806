//! Formats a job file and its overrides as one TOML text, for the record and for running the job again.

use crate::jobfile::advice::is_bare;
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::tree::{TomlNode, TomlTable, TomlValue};

/// Returns the text of the job file if there are no overrides. Otherwise returns all tables of `root`, with values as
/// the user wrote them.
pub(super) fn text(root: &TomlTable, overrides: &[String], diagnostics: &Diagnostics) -> String {
    if overrides.is_empty() {
        return diagnostics.text(0).to_owned();
    }
    let mut text = String::new();
    for setting in overrides {
        // The override is quoted, because a line break in it would end the comment.
        text.push_str(&format!("# --set {}\n", quoted(setting)));
    }
    for entry in &root.entries {
        let Some(table) = entry.node.as_table() else { continue };
        text.push_str(&format!("\n[{}]\n", key(&entry.key)));
        for entry in &table.entries {
            text.push_str(&format!("{} = {}\n", key(&entry.key), value(&entry.node, diagnostics)));
        }
    }
    text
}

fn value(node: &TomlNode, diagnostics: &Diagnostics) -> String {
    match &node.value {
        TomlValue::String(text) => quoted(text),
        TomlValue::Array(elements) => {
            let elements: Vec<String> = elements.iter().map(|element| value(element, diagnostics)).collect();
            format!("[{}]", elements.join(", "))
        }
        TomlValue::Table(table) => {
            let entries: Vec<String> = table
                .entries
                .iter()
                .map(|entry| format!("{} = {}", key(&entry.key), value(&entry.node, diagnostics)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        _ => diagnostics.slice(&node.place).to_owned(),
    }
}

fn key(key: &str) -> String {
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { quoted(key) }
}

/// Formats `text` as a basic string of TOML on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
