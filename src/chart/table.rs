//! Tables of numbers: as HTML for people, and as CSV and JSON in base units for programs.

use super::draw::WORDS;
use super::unit::{Unit, group};
use super::{Axis, Line, Style};
use crate::quote::clip_to;
use maud::{Markup, html};
use serde::{Serialize, Serializer};

/// Maximum number of characters of a text in a table cell that is not wrapped.
const SHORT: usize = 24;

/// A table of numbers and texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Table {
    /// The columns of the table.
    pub columns: Vec<TableColumn>,
    /// The rows of the table, each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TableColumn {
    /// The header of the column.
    pub name: String,
    /// The unit of the column's numbers.
    pub unit: Unit,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text.
    Text(String),
    /// A number, in the base unit of its column.
    Number(f64),
    /// An integer of any length, as its digits.
    Whole(String),
    /// An empty cell.
    Nothing,
}

impl TableColumn {
    /// Returns a column of numbers.
    pub fn new(name: &str, unit: Unit) -> TableColumn {
        TableColumn { name: name.to_owned(), unit }
    }

    /// Returns a column of text.
    pub fn text(name: &str) -> TableColumn {
        TableColumn::new(name, Unit::Text)
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::Text(text) => serializer.serialize_str(text),
            Cell::Number(number) => serializer.serialize_f64(*number),
            Cell::Whole(digits) => match digits.parse::<serde_json::Number>() {
                Ok(number) => number.serialize(serializer),
                Err(_) => serializer.serialize_str(digits),
            },
            Cell::Nothing => serializer.serialize_none(),
        }
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::Nothing, Cell::Number)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Cell {
        Cell::Whole(value.to_string())
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl Cell {
    /// Formats the cell for people; `unit` is the unit of its column.
    pub fn show(&self, unit: Unit) -> String {
        match self {
            Cell::Text(text) => clip_to(text, WORDS),
            Cell::Number(number) => unit.show(*number),
            Cell::Whole(digits) => match (unit, digits.parse::<f64>()) {
                (Unit::Count | Unit::Number | Unit::Text, _) | (_, Err(_)) => group(digits),
                (_, Ok(number)) => unit.show(number),
            },
            Cell::Nothing => "–".to_owned(),
        }
    }

    /// Formats the cell as a field of CSV, with numbers in base units.
    pub fn field(&self) -> String {
        match self {
            Cell::Text(text) => field(text),
            Cell::Number(number) if number.is_finite() => (number + 0.0).to_string(),
            Cell::Whole(digits) => digits.clone(),
            Cell::Number(_) | Cell::Nothing => String::new(),
        }
    }

    /// Returns the CSS class of the cell; `unit` is the unit of its column. Only long texts may be wrapped.
    fn class(&self, unit: Unit) -> Option<&'static str> {
        match self {
            Cell::Text(text) if unit == Unit::Text => (text.chars().count() <= SHORT).then_some("short"),
            Cell::Text(_) => Some("right"),
            Cell::Number(_) | Cell::Whole(_) | Cell::Nothing => Some("number"),
        }
    }
}

/// Formats a text as a field of CSV. A text that a spreadsheet would interpret as a formula is prefixed with an
/// apostrophe.
pub fn field(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
        false => format!("{guard}{text}"),
    }
}

impl Table {
    /// Returns a table whose first column contains the names of its rows under the header `first`. Each row consists
    /// of its name and the cells of the other columns.
    pub fn of_names(
        first: &str,
        columns: impl IntoIterator<Item = TableColumn>,
        rows: impl IntoIterator<Item = (String, Vec<Cell>)>,
    ) -> Table {
        Table {
            columns: [TableColumn::text(first)].into_iter().chain(columns).collect(),
            rows: rows.into_iter().map(|(name, cells)| [vec![Cell::Text(name)], cells].concat()).collect(),
        }
    }

    /// Returns the table as HTML. The cells of the first column are the headers of its rows.
    pub fn html(&self, caption: &str) -> Markup {
        html! {
            table {
                caption { (clip_to(caption, WORDS)) }
                thead { tr {
                    @for column in &self.columns {
                        th scope="col" class=[(column.unit != Unit::Text).then_some("number")] { (clip_to(&column.name, WORDS)) }
                    }
                } }
                tbody {
                    @for row in &self.rows {
                        tr {
                            @for (at, (cell, TableColumn { unit, .. })) in row.iter().zip(&self.columns).enumerate() {
                                @if at == 0 {
                                    th scope="row" class=[cell.class(*unit)] { (cell.show(*unit)) }
                                } @else {
                                    td class=[cell.class(*unit)] { (cell.show(*unit)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Joins tables with the same rows side by side. The first column, which names the rows, is taken from the first
    /// table only.
    pub fn side_by_side<'a>(tables: impl Iterator<Item = &'a Table>) -> Table {
        let mut all = Table::default();
        for table in tables {
            let skipped = usize::from(!all.columns.is_empty());
            all.columns.extend(table.columns.iter().skip(skipped).cloned());
            all.rows.resize(table.rows.len().max(all.rows.len()), Vec::new());
            let rows = all.rows.iter_mut().zip(&table.rows);
            rows.for_each(|(row, more)| row.extend(more.iter().skip(skipped).cloned()));
        }
        all
    }

    /// Formats the table as lines of CSV. The header of each column contains its base unit.
    pub fn csv(&self) -> String {
        let heading = self.columns.iter().map(|column| match column.unit {
            Unit::Text | Unit::Count | Unit::Number => field(&column.name),
            unit => field(&format!("{} ({})", column.name, unit.name())),
        });
        let mut lines = vec![heading.collect::<Vec<_>>().join(",")];
        lines.extend(self.rows.iter().map(|row| row.iter().map(Cell::field).collect::<Vec<_>>().join(",")));
        lines.join("\n") + "\n"
    }
}

/// Returns a table of the points of the lines of a chart. Points at the same horizontal position share a row.
pub(super) fn of_lines(lines: &[Line], x: &Axis, y: &Axis) -> Table {
    let mut places: Vec<f64> = lines.iter().flat_map(|line| line.points.iter().map(|&(x, _)| x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let names = lines.iter().map(|line| TableColumn::new(&line.name, y.unit));
    let columns: Vec<TableColumn> = [TableColumn::new(&x.label, x.unit)].into_iter().chain(names).collect();
    let mut rows: Vec<Vec<Cell>> =
        places.iter().map(|&place| [vec![Cell::Number(place)], vec![Cell::Nothing; lines.len()]].concat()).collect();
    for (at, line) in lines.iter().enumerate() {
        // A limit has the same value at every position.
        if let (Style::Limit, Some(&(_, limit))) = (line.style, line.points.last()) {
            rows.iter_mut().for_each(|row| row[at + 1] = Cell::Number(limit));
            continue;
        }
        for &(place, value) in &line.points {
            if let Ok(row) = places.binary_search_by(|other| other.total_cmp(&place)) {
                rows[row][at + 1] = Cell::Number(value);
            }
        }
    }
    Table { columns, rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_cannot_be_formulas() {
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
        assert_eq!(field("=SUM(A1)"), "'=SUM(A1)");
        assert_eq!(field("plain"), "plain");
    }

    #[test]
    fn lines_meet_in_one_table() {
        let lines = [
            Line::new("frontier", Style::Line, vec![(0.0, 1.0), (1.0, 5.0)]),
            Line::new("checked", Style::Dots, vec![(1.0, 7.5), (2.0, 9.0)]),
            Line::new("most", Style::Limit, vec![(2.0, 10.0)]),
        ];
        let table = of_lines(&lines, &Axis::linear("level", Unit::Count), &Axis::log("bytes", Unit::Bytes));
        assert_eq!(table.csv(), "level,frontier (B),checked (B),most (B)\n0,1,,10\n1,5,7.5,10\n2,,9,10\n");
        let html = table.html("<b>").into_string();
        assert!(
            html.contains("<caption>&lt;b&gt;</caption>") && html.contains("<td class=\"number\">–</td>"),
            "{html}"
        );
    }

    #[test]
    fn numbers_of_any_length_stay_whole() {
        let digits = "340282366920938463463374607431768211455";
        let cell = Cell::Whole(digits.into());
        assert_eq!(serde_json::to_string(&cell).expect("plain"), digits);
        assert_eq!(cell.show(Unit::Count).replace(',', ""), digits);
        assert_eq!(Cell::from(1536).show(Unit::Bytes), "1.50 KiB");
    }
}
