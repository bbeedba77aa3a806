//! What messages advise about a wrong line.

use super::fields::{Delimiter, split};

pub(super) const ANOTHER: &str =
    "correct the line, or name the format that the file is in: [input] format, convert --from";
pub(super) const COLUMNS: &str = "say which columns are the ids: [input] columns = [1, 2], convert --columns 1,2";
pub(super) const SKIP: &str =
    "skip lines that are no edges with [input] skip_lines = 1 (convert --skip-lines 1), or correct the line";
pub(super) const NUMBER: &str = "number the ids first: awk '{for(i=1;i<3;i++)if(!($i in n))n[$i]=c++;print n[$1],n[$2]}' IN > OUT \
    (with -F, for commas)";

pub(super) const MIXED: &str = "make the columns of all lines alike: awk '{print $1, $2}' IN > OUT keeps two of each line; of an adjacency \
    list awk '{for (i = 2; i <= NF; i++) print $1, $i}' IN > OUT makes edges";

/// What a message says of a line in a file whose first line has two ids alone.
pub(super) fn advice_of_two(line: &[u8]) -> &'static str {
    let delimiter = Delimiter::of(line, false);
    let line = line.split(|c| *c == b'\n').next().unwrap_or_default();
    match split(line, delimiter).unwrap_or_default().as_slice() {
        [u, v, _, ..] if u.is_id() && v.is_id() => MIXED,
        _ => advice(line),
    }
}

/// What a message says of a wrong line further down.
pub(super) fn advice(line: &[u8]) -> &'static str {
    let line = line.split(|c| *c == b'\n').next().unwrap_or_default();
    if line.iter().any(|c| *c < b' ' && !matches!(c, b'\t' | b'\r')) {
        return ANOTHER;
    }
    let delimiter = Delimiter::of(line, false);
    match split(line, delimiter).unwrap_or_default().as_slice() {
        [u] if u.is_id() => SKIP,
        [u, v] if u.is_id() && v.is_id() => MIXED,
        [u, v, _, ..] if u.is_id() && v.is_id() => {
            "correct the line, or say which columns to read: [input] columns = [1, 2], convert --columns 1,2"
        }
        _ => ANOTHER,
    }
}
