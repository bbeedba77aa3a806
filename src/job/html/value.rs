//! Reads values of a report's JSON. Any of them may be missing or have an unexpected type.

use crate::chart::{Cell, Table, TableColumn, Unit};
use serde_json::Value;

/// Maximum number of fields of a JSON object that are shown.
const MOST: usize = 100;

/// Returns a value as a number; `None` unless it is a finite number.
pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// Returns a value as text with `unit`, or as a dash for arrays, objects and null.
pub(super) fn shown(value: &Value, unit: Unit) -> String {
    cell(value).show(unit)
}

/// Returns a value as a table cell with a number or text. For arrays, objects and null the cell is empty.
pub(super) fn cell(value: &Value) -> Cell {
    match value {
        Value::Number(number) if number.to_string().bytes().all(|digit| digit.is_ascii_digit()) => {
            Cell::Whole(number.to_string())
        }
        Value::Number(_) => number(value).into(),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Bool(flag) => Cell::from(if *flag { "yes" } else { "no" }),
        Value::Null | Value::Array(_) | Value::Object(_) => Cell::Nothing,
    }
}

/// Returns the unit of a field, derived from its name. Ids and checksums are not quantities, so they are shown as
/// text.
pub(super) fn unit(name: &str) -> Unit {
    let has = |word: &str| name.split('_').any(|part| part == word);
    match name {
        "source" | "target" | "head" | "checksum" => Unit::Text,
        _ if has("seconds") => Unit::Seconds,
        _ if has("bytes") || has("memory") => Unit::Bytes,
        _ if has("teps") => Unit::Teps,
        _ if has("joules") => Unit::Joules,
        _ => Unit::Count,
    }
}

/// Returns a label for a field, derived from its name. Values are shown with a unit, so "seconds" becomes "time".
pub(super) fn label(name: &str) -> String {
    let words = name.split('_').map(|word| match word {
        "seconds" => "time",
        "teps" => "TEPS",
        word => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns a table with a row for each field of an object. Fields that are arrays or objects are omitted.
pub(super) fn fields(value: &Value) -> Table {
    let plain = value.as_object().into_iter().flatten().filter(|(key, value)| {
        // The answer is shown at the top of the page.
        !value.is_array() && !value.is_object() && key.as_str() != "answer"
    });
    let row = |(key, value): (&String, &Value)| {
        let cell = match (cell(value), unit(key)) {
            (Cell::Nothing, _) => Cell::from("none"),
            (Cell::Whole(id), Unit::Text) => Cell::Text(id),
            (cell, Unit::Count) => cell,
            (cell, unit) => Cell::Text(cell.show(unit)),
        };
        (label(key), cell)
    };
    properties(plain.take(MOST).map(row))
}

/// Returns a table of properties and their values.
pub(super) fn properties(rows: impl IntoIterator<Item = (String, Cell)>) -> Table {
    let rows = rows.into_iter().map(|(name, value)| (name, vec![value]));
    Table::of_names("property", [TableColumn::new("is", Unit::Count)], rows)
}
