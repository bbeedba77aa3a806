//! Finds numeric columns that are not read, one of which may contain the weights.

use super::fields::{Delimiter, split};
use super::window::{NextLine, TextWindow};
use super::{head, skip};
use crate::formats::weights::UnreadColumns;
use crate::formats::{BodyLayout, Columns, Format, Part, contents};

/// Returns the numeric columns that are not read from a text file whose edges have no weights. Mistakes in the file are
/// left to the scan, which reports them.
pub(in crate::formats) fn unread(part: &Part) -> Option<UnreadColumns> {
    if part.format != Format::Text {
        return None;
    }
    let (prefix, _) = contents::prefix_of(part).ok()?;
    let start = contents::text_start(&prefix, Format::Text).ok()?;
    let columns = columns(&prefix, start, part)?;
    let (_, first) = columns.first()?;
    let typed = match first {
        Columns::Names(names) => names.join(","),
        Columns::Numbers(numbers) => numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        Columns::Auto => return None,
    };
    let which = if columns.len() == 1 { "if these are the weights, say so" } else { "choose the weights, as in" };
    let remedy = format!("{which}: [input] columns = {first}, convert --columns {typed}");
    Some(UnreadColumns::of(&columns.into_iter().map(|(name, _)| name).collect::<Vec<_>>(), remedy))
}

/// Returns the numeric columns of a file that are not read. `prefix` contains the start of the file, whose text begins
/// at offset `start`. Each column is a pair: its name or number for messages, and the option that makes it the weight.
fn columns(prefix: &[u8], start: usize, part: &Part) -> Option<Vec<(String, Columns)>> {
    let head = head(prefix, start, part).ok().filter(|head| !head.weighted)?;
    let window = TextWindow::new(prefix, part.text.ids);
    let row = |at: usize| match window.next(at) {
        NextLine::Line { start, end } => Some((window.line(start, end), end)),
        _ => None,
    };
    let (line, _) = row(head.body)?;
    let (u, v, delimiter) = match &head.layout {
        BodyLayout::Table(table) | BodyLayout::Strings(table) => (table.u, table.v, table.delimiter),
        _ => (0, 1, Delimiter::of(line, false)),
    };
    let fields = split(line, delimiter)?;
    let first = skip(&window, start, part.text.skip_lines.unwrap_or(0)).ok()?;
    let heading = row(first).filter(|(_, end)| *end == head.body);
    let names: Vec<String> = heading
        .and_then(|(line, _)| split(line, delimiter))
        .filter(|names| names.len() == fields.len())
        .map(|names| names.iter().map(|name| name.name()).collect())
        .unwrap_or_default();
    // A name must be distinguishable from a number and from the other names, and must need no quotes on a command
    // line.
    let is_name = |name: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        name.contains(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(plain)
            && names.iter().filter(|other| other.eq_ignore_ascii_case(name)).count() == 1
    };
    let choice = |at: usize| {
        let chosen: Option<Vec<String>> =
            [u, v, at].map(|at| names.get(at).filter(|name| is_name(name)).cloned()).into_iter().collect();
        chosen.map_or_else(|| Columns::Numbers([u, v, at].map(|at| at as u64 + 1).into()), Columns::Names)
    };
    let shown = |at: usize| match names.get(at) {
        Some(name) => format!("{name:?}"),
        None => (at + 1).to_string(),
    };
    // An unnamed first column is a row index.
    let wanted =
        |at: &usize| ![u, v].contains(at) && fields[*at].is_number() && names.get(*at).is_none_or(|n| !n.is_empty());
    Some((0..fields.len()).filter(wanted).map(|at| (shown(at), choice(at))).collect())
}
