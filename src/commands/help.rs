//! `gpugraph help`: help for a command, for a table of job files, or for a key.

use super::cli::{Cli, HelpArgs};
use crate::config::{TableInfo, tables};
use crate::error::{Error, Result};
use crate::jobfile::AnyKey;
use crate::jobfile::advice::advice;
use crate::stdout;
use clap::CommandFactory;
use std::fmt::Write;

/// Prints help for a command, or for a table or a key of job files. Without a topic it lists all commands.
///
/// # Errors
/// [`Error::Usage`] for an unknown topic; [`Error::Io`] if stdout can't be written.
pub fn help(args: &HelpArgs) -> Result<()> {
    let mut command = Cli::command();
    command.build();
    let Some(topic) = &args.topic else { return stdout::print(command.render_long_help().to_string()) };
    if let Some(subcommand) = command.find_subcommand_mut(topic) {
        let mut text = subcommand.render_long_help().to_string();
        if tables().any(|table| table.name == topic) {
            let _ = write!(text, "\n\n`gpugraph help '[{topic}]'` shows the table [{topic}] of job files.");
        }
        return stdout::print(text);
    }
    match of_job_file(topic) {
        Some(text) => stdout::print(text),
        None => Err(unknown(topic, &command)),
    }
}

/// Returns the help text for a table of job files (`[limits]` or `limits`) or for a key (`limits.threads` or
/// `threads`); `None` if `topic` is neither.
fn of_job_file(topic: &str) -> Option<String> {
    let name = topic.trim_start_matches('[').trim_end_matches(']');
    let mut text = String::new();
    if let Some(TableInfo { name, about, keys }) = tables().find(|table| table.name == name) {
        let _ = writeln!(text, "[{name}]: {about}\n");
        keys.iter().for_each(|key| describe(key.name(), *key, &mut text));
        let _ = match keys {
            [] => writeln!(text, "It has no keys."),
            _ => writeln!(text, "To set a key for one run: --set {name}.KEY=VALUE"),
        };
        return Some(text);
    }
    let (table, key) = match topic.split_once('.') {
        Some((table, key)) => (Some(table), key),
        None => (None, topic),
    };
    for of in tables().filter(|of| table.is_none_or(|table| of.name == table)) {
        for known in of.keys.iter().filter(|known| known.name() == key) {
            describe(&format!("{}.{key}", of.name), *known, &mut text);
        }
    }
    Some(text).filter(|text| !text.is_empty())
}

fn describe(name: &str, key: &dyn AnyKey, text: &mut String) {
    let _ = writeln!(text, "{name}\n    {}", key.meaning());
    let _ = writeln!(text, "    values: {}\n    default: {}\n", key.values(), key.default());
}

fn unknown(topic: &str, command: &clap::Command) -> Error {
    let commands = command.get_subcommands().map(clap::Command::get_name);
    let of_tables = tables().flat_map(|table| table.keys.iter().map(|key| key.name()).chain([table.name]));
    let mut known: Vec<&str> = commands.chain(of_tables).collect();
    known.sort_unstable();
    known.dedup();
    let advice = advice(topic, &known, |name| format!("'{name}'"));
    Error::Usage(format!("help {topic}: expected a command, a table or a key of job files; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_a_table_or_a_key_with_or_without_its_table() {
        let table = of_job_file("[limits]").expect("a table");
        assert_eq!(of_job_file("limits").as_ref(), Some(&table));
        assert!(table.contains("host_memory\n") && table.contains("threads\n"), "{table}");
        assert!(table.contains("    default: 80 % of what is free\n"), "{table}");
        let key = of_job_file("limits.threads").expect("a key");
        assert_eq!(of_job_file("threads").as_ref(), Some(&key));
        assert!(key.starts_with("limits.threads\n") && key.contains("    default: 0\n"), "{key}");
        // Two tables have a key `method`. The help shows the values from the definition that also parses the key.
        let both = of_job_file("method").expect("keys");
        assert!(both.contains("sssp.method\n") && both.contains("listrank.method\n"), "{both}");
        assert!(
            both.contains("values: auto | moore | delta-stepping | bellman-ford\n    default: \"auto\"\n"),
            "{both}"
        );
        assert_eq!(of_job_file("limits.method"), None);
        assert_eq!(of_job_file("thread"), None);
    }
}
