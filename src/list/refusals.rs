//! The errors for files that are not lists.

use std::path::Path;

use crate::error::{At, Error};
use crate::list::{ListFormat, MAX_NARROW};

/// Shell command that prepends the number of elements to a text file of successors.
const COUNTED: &str = "(wc -w < IN; cat IN) > OUT";
const AGAIN: &str = "fetch or make the file again, or name its format";

/// Returns the error for a successor that is neither -1 nor an element.
pub(super) fn out_of_range(path: &Path, at: At, element: u64, length: u64, found: i64) -> Error {
    let expected = format!("the successor of element {element} as -1 or from 0 to {}", length.saturating_sub(1));
    Error::input(path, at, expected, found.to_string(), "number the elements from 0, and end the list with -1")
}

/// Returns the error for text that is not a number.
pub(super) fn no_number(path: &Path, at: u64, bytes: &[u8]) -> Error {
    let found: Vec<u8> = bytes.iter().copied().take_while(|byte| *byte > b' ').take(24).collect();
    let found = match found.as_slice() {
        [] => format!("the byte {:#04x}", bytes.first().copied().unwrap_or(0)),
        found => format!("{:?}", String::from_utf8_lossy(found)),
    };
    let remedy = match found.contains([',', ';']) {
        true => "write blanks between the numbers: tr ',;' '  ' < IN > OUT",
        false => "write only numbers, separated by blanks or line ends",
    };
    Error::input(path, At::Byte(at), "a whole number of at most 63 bits", found, remedy)
}

/// Returns the error for text without any number.
pub(super) fn no_length(path: &Path, bytes: u64) -> Error {
    let (found, remedy) = match bytes {
        0 => ("an empty file", "fetch or make it again; a list of no elements is the number 0"),
        _ => ("no number", "write the number of elements first (0 for a list of none)"),
    };
    Error::input(path, At::File, "the number of elements, then their successors", found, remedy)
}

/// Returns the error for text that begins with a negative number.
pub(super) fn negative_length(path: &Path, found: i64) -> Error {
    let remedy = format!("write it before the successors: {COUNTED}");
    Error::input(path, At::File, "the number of elements first", found.to_string(), remedy)
}

/// Returns the error for text with fewer or more successors than its first number declares.
pub(super) fn other_length(path: &Path, length: u64, found: u64) -> Error {
    let expected = format!("{length} successors, as its first number says");
    let remedy =
        format!("fetch or make the file again; or write the number of elements first if it is missing: {COUNTED}");
    Error::input(path, At::File, expected, found.to_string(), remedy)
}

/// Returns the error for a file whose last number is incomplete.
pub(super) fn not_whole(path: &Path, bytes: u64, format: ListFormat) -> Error {
    let expected = format!("numbers of {} bytes ({format})", format.width().unwrap_or(1));
    Error::input(path, At::File, expected, format!("{bytes} bytes"), AGAIN)
}

/// Returns the error for a file of 32-bit numbers with more elements than such numbers can index.
pub(super) fn too_long(path: &Path, length: u64) -> Error {
    let expected = format!("at most {MAX_NARROW} elements in 32-bit numbers");
    Error::input(path, At::File, expected, length.to_string(), "use i64, or name the format if it is another")
}

/// Returns the error for a file that was changed while it was read.
pub(super) fn changed(path: &Path, at: At) -> Error {
    let remedy = "leave the file alone while it is read, and run again";
    Error::input(path, at, "the same numbers in every pass", "other ones", remedy)
}
