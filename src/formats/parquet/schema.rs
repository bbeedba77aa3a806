//! Finds the id columns of a table, by their names or column numbers, and checks that their types can be ids.

use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor, Type};

use crate::error::{At, Error, Result};
use crate::formats::text::names::{EdgeColumns, chosen, columns, open_direction};
use crate::formats::{Columns, IdKind, Part};

pub(super) const NULLS: &str = "drop these rows first: pandas has dropna(), SQL WHERE ... IS NOT NULL";
const NUMBERS: &str = "columns of whole numbers (INT32 or INT64, not nested)";
const STRINGS: &str = "choose columns of strings ([input] columns, convert --columns), or leave out ids = \"string\"";
/// Maximum number of columns that a message lists.
const NAMED: usize = 12;

/// A column of a Parquet table that contains ids.
#[derive(Debug, Clone)]
pub(super) struct IdColumn {
    pub name: String,
    /// Index among all leaf columns of the schema.
    pub leaf: usize,
    pub description: ColumnDescPtr,
    /// Size in bytes of a number, or of the length prefix of a string.
    pub bytes: usize,
    /// Whether the ids in the column are strings.
    pub strings: bool,
    pub signed: bool,
    /// Whether rows may lack a value in the column.
    pub optional: bool,
}

/// Returns the two id columns of a Parquet table.
///
/// # Errors
/// Bad input if the columns are missing, or if their types can't be ids.
pub(super) fn ends(part: &Part, schema: &SchemaDescriptor) -> Result<[IdColumn; 2]> {
    let fields: Vec<&Type> = schema.root_schema().get_fields().iter().map(AsRef::as_ref).collect();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_owned()).collect();
    let requested = &part.text.columns;
    let found = match requested {
        Columns::Auto => columns(&names),
        Columns::Names(wanted) => chosen(wanted, &names),
        Columns::Numbers(numbers) => {
            let column = |nth: usize| {
                let number = usize::try_from(*numbers.get(nth)?).ok()?;
                (1..=names.len()).contains(&number).then(|| number - 1)
            };
            column(0).zip(column(1)).filter(|_| numbers.len() < 3 || column(2).is_some()).map(|(u, v)| EdgeColumns {
                u,
                v,
                weight: None,
            })
        }
    };
    if let Some((expected, remedy)) = found.and_then(|ends| open_direction(part, &names, ends)) {
        return Err(Error::input(&part.path, At::File, expected, listed(&fields), remedy));
    }
    let Some(EdgeColumns { u, v, .. }) = found else {
        let expected = match requested {
            Columns::Auto => {
                "columns whose names say which are the ids (source and target, src and dst, from and to, u and v)"
                    .into()
            }
            requested => format!("the columns {requested}, each once"),
        };
        let two = fields.iter().filter(|field| signed(field).is_some()).map(|field| format!("{:?}", field.name()));
        let two = two.take(2).collect::<Vec<_>>();
        let two = if two.len() == 2 { shown(&two.join(", ")) } else { "\"a\", \"b\"".into() };
        let remedy = format!("choose both: [input] columns = [{two}], or their numbers from 1 (convert --columns)");
        return Err(Error::input(&part.path, At::File, expected, listed(&fields), remedy));
    };
    let end = |field: usize| -> Result<IdColumn> {
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == field);
        let end = leaf.and_then(|leaf| IdColumn::of(fields[field], (leaf, schema.column(leaf)), part.text.ids));
        end.ok_or_else(|| {
            let (expected, remedy) = match part.text.ids {
                IdKind::String => ("columns of strings (BYTE_ARRAY, not nested)", STRINGS),
                IdKind::Number if is_text(fields[field]) => (NUMBERS, "read strings: [input] ids = \"string\""),
                IdKind::Number => (NUMBERS, "choose columns of whole numbers ([input] columns, convert --columns)"),
            };
            let found = format!("{} of type {}", shown(fields[field].name()), kind(fields[field]));
            Error::input(&part.path, At::File, expected, found, remedy)
        })
    };
    Ok([end(u)?, end(v)?])
}

/// Returns the names of the numeric columns other than the id columns `ids`.
pub(super) fn others(schema: &SchemaDescriptor, ids: &[IdColumn; 2]) -> Vec<String> {
    let fields = schema.root_schema().get_fields();
    let is_other = |leaf: &usize| {
        let field = &fields[schema.get_column_root_idx(*leaf)];
        let is_float = || !field.is_group() && matches!(field.get_physical_type(), Physical::FLOAT | Physical::DOUBLE);
        ids.iter().all(|id| id.leaf != *leaf) && (signed(field).is_some() || is_float())
    };
    (0..schema.num_columns()).filter(is_other).map(|leaf| shown(schema.column(leaf).name())).collect()
}

impl IdColumn {
    fn of(field: &Type, (leaf, description): (usize, ColumnDescPtr), ids: IdKind) -> Option<IdColumn> {
        let strings = ids == IdKind::String;
        let signed = if strings { is_text(field).then_some(false)? } else { signed(field)? };
        let bytes = if strings || description.physical_type() == Physical::INT32 { 4 } else { 8 };
        let (name, optional) = (shown(description.name()), description.max_def_level() > 0);
        Some(IdColumn { name, leaf, description, bytes, strings, signed, optional })
    }
}

/// Returns true if a column contains one string per row.
fn is_text(field: &Type) -> bool {
    let info = field.get_basic_info();
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    let decimal = matches!(info.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || info.converted_type() == ConvertedType::DECIMAL;
    !field.is_group() && !repeated && !decimal && field.get_physical_type() == Physical::BYTE_ARRAY
}

/// Returns whether the numbers of a column are signed; `None` if it does not contain one integer per row.
fn signed(field: &Type) -> Option<bool> {
    let info = field.get_basic_info();
    let repeated = info.has_repetition() && info.repetition() == Repetition::REPEATED;
    if field.is_group() || repeated || !matches!(field.get_physical_type(), Physical::INT32 | Physical::INT64) {
        return None;
    }
    use ConvertedType::{DECIMAL, INT_8, INT_16, INT_32, INT_64, NONE, UINT_8, UINT_16, UINT_32, UINT_64};
    match (info.logical_type_ref(), info.converted_type()) {
        (Some(LogicalType::Integer(int)), _) => Some(int.is_signed),
        (Some(LogicalType::Decimal(_)), _) | (None, DECIMAL) => (field.get_scale() == 0).then_some(true),
        (Some(_), _) => None,
        (None, UINT_8 | UINT_16 | UINT_32 | UINT_64) => Some(false),
        (None, NONE | INT_8 | INT_16 | INT_32 | INT_64) => Some(true),
        (None, _) => None,
    }
}

/// Returns the name of a column's type for messages.
fn kind(field: &Type) -> String {
    if field.is_group() {
        return "nested".into();
    }
    let info = field.get_basic_info();
    let physical = field.get_physical_type();
    // Only the first word, for example of Timestamp(TimestampType { ... }).
    let logical = info.logical_type_ref().map(|logical| format!("{logical:?}"));
    let logical = logical.as_ref().and_then(|text| text.split(|c: char| !c.is_alphanumeric()).next());
    match (logical, info.converted_type()) {
        (Some(logical), _) => format!("{physical} {}", logical.to_uppercase()),
        (None, ConvertedType::NONE) => physical.to_string(),
        (None, converted) => format!("{physical} {converted}"),
    }
}

/// Returns a list of a table's columns with their types, for messages.
fn listed(fields: &[&Type]) -> String {
    if fields.is_empty() {
        return "no column".into();
    }
    let each = fields.iter().take(NAMED).map(|field| format!("{} ({})", shown(field.name()), kind(field)));
    let more = if fields.len() > NAMED { format!(" and {} more", fields.len() - NAMED) } else { String::new() };
    format!("the columns {}{more}", each.collect::<Vec<_>>().join(", "))
}

/// Returns text from a file in a form that is safe to print on a terminal: shortened, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars().map(|c| if c.is_control() { '?' } else { c });
    let start: String = chars.by_ref().take(120).collect();
    if chars.next().is_some() { format!("{start}...") } else { start }
}
