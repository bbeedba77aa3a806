//! Checks results against the reference that comes with a Graphalytics graph, by the rules of Graphalytics.

use super::algorithm::{Comparison, ResultColumn, VertexResult};
use super::vertices::Vertices;
use crate::error::{At, Error, Result};
use crate::memory::{Budget, Buffer};
use crate::process::signals;
use crate::quote::clip;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Maximum relative difference between a number and its reference.
const EPSILON: f64 = 1e-4;
/// Maximum number of differences that are described in text.
const DESCRIBED: usize = 5;
/// Number of lines of the reference file after which the comparison checks whether a signal has requested it to stop.
const STRIDE: u64 = 1 << 16;

/// Differences between an algorithm's results and the reference.
#[derive(Debug, Default)]
pub struct Mismatches {
    /// Number of differences.
    pub count: u64,
    /// Descriptions of the first five differences.
    pub described: Vec<String>,
}

impl Mismatches {
    fn add(&mut self, describe: impl FnOnce() -> String) {
        self.count += 1;
        if self.described.len() < DESCRIBED {
            self.described.push(describe());
        }
    }
}

/// Compares the results in `column` with the reference at `path`, which may list vertices in any order.
///
/// # Errors
/// [`Error::Input`] for a reference that can't be read; [`Error::Limit`] if the memory budget is too small for one bit
/// per vertex and 16 bytes per component.
pub fn compare(
    path: &Path,
    (column, comparison): (&ResultColumn, Comparison),
    vertices: &mut Vertices,
    budget: &Budget,
) -> Result<Mismatches> {
    let rows = vertices.ids().len();
    let mut seen = budget.zeroed::<u32>(rows.div_ceil(32), "vertices of a reference (a bit each)")?;
    let mut components = match (column, comparison) {
        (ResultColumn::Labels(labels), Comparison::Equivalence) => {
            Some(Components::new(vertices.ids(), labels.values(), budget)?)
        }
        _ => None,
    };
    let mut mismatches = Mismatches::default();
    let unreadable = |e| Error::unreadable(path, &e);
    let mut lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(unreadable)?);
    let mut text = String::new();
    for line in 1.. {
        text.clear();
        if lines.read_line(&mut text).map_err(unreadable)? == 0 {
            break;
        }
        if line % STRIDE == 0 {
            signals::check()?;
        }
        let mut fields = text.split_whitespace();
        let (Some(id), value) = (fields.next(), fields.next()) else { continue };
        let parsed = id.parse::<u64>().ok().zip(value.and_then(|value| column.parse(value)));
        let Some((id, expected)) = parsed.filter(|_| fields.next().is_none()) else {
            let remedy = "correct the reference, or remove it";
            return Err(Error::input(
                path,
                At::Line(line),
                "the id of a vertex and its value",
                clip(text.trim()),
                remedy,
            ));
        };
        let Some(row) = vertices.row(id) else {
            mismatches.add(|| format!("vertex {id} of the reference is not in the graph"));
            continue;
        };
        if seen[row / 32] >> (row % 32) & 1 == 1 {
            mismatches.add(|| format!("vertex {id} is in the reference twice"));
            continue;
        }
        seen[row / 32] |= 1 << (row % 32);
        let found = column.get(row);
        match (&mut components, expected) {
            (Some(components), VertexResult::Whole(label)) => {
                if let Some(other) = components.label(found, label) {
                    mismatches
                        .add(|| format!("vertex {id}: expected {label}, where its component {found} has {other}"));
                }
            }
            _ if is_match(found, expected) => {}
            _ => mismatches.add(|| format!("vertex {id}: expected {expected}, found {found}")),
        }
    }
    for row in (0..rows).filter(|row| seen[row / 32] >> (row % 32) & 1 == 0) {
        mismatches.add(|| format!("vertex {} is not in the reference", vertices.ids()[row]));
    }
    if let Some(components) = components {
        components.compare_labels(&mut mismatches);
    }
    Ok(mismatches)
}

/// Returns true if a result agrees with the reference. Numbers may have a relative difference of up to [`EPSILON`];
/// other values must be equal.
fn is_match(found: VertexResult, expected: VertexResult) -> bool {
    match (found, expected) {
        (VertexResult::Number(found), VertexResult::Number(expected)) => {
            found == expected || (found - expected).abs() <= EPSILON * expected.abs() && expected.is_finite()
        }
        (found, expected) => found == expected,
    }
}

/// The components that a job found, each with the label that the reference gives to its vertices.
struct Components {
    /// Smallest vertex id of each component, in ascending order.
    smallest: Buffer<u64>,
    /// Reference label of each component, in the order of `smallest`; [`Self::NONE`] until a vertex of the component
    /// has been read from the reference.
    labels: Buffer<u64>,
}

impl Components {
    /// Placeholder for a label that is not known yet. Labels in references are smaller.
    const NONE: u64 = u64::MAX;

    /// Lists the components. `found[i]` is the smallest vertex id in the component of vertex `ids[i]`.
    fn new(ids: &[u64], found: &[i64], budget: &Budget) -> Result<Components> {
        let is_smallest = |(id, component): &(&u64, &i64)| **id == component.cast_unsigned();
        let count = ids.iter().zip(found).filter(is_smallest).count();
        let mut smallest = budget.zeroed::<u64>(count, "components (8 bytes each)")?;
        let mut labels = budget.zeroed::<u64>(count, "labels of components (8 bytes each)")?;
        let all = ids.iter().zip(found).filter(is_smallest);
        smallest.iter_mut().zip(all).for_each(|(slot, (&id, _))| *slot = id);
        labels.fill(Components::NONE);
        Ok(Components { smallest, labels })
    }

    /// Records that a vertex of component `found` has the reference label `label`. If an earlier vertex of the
    /// component had another label, returns that label.
    fn label(&mut self, found: VertexResult, label: i64) -> Option<i64> {
        let VertexResult::Whole(found) = found else { return None };
        let at = self.smallest.binary_search(&found.cast_unsigned()).ok()?;
        match self.labels[at] {
            Components::NONE => self.labels[at] = label.cast_unsigned(),
            other if other != label.cast_unsigned() => return Some(other.cast_signed()),
            _ => {}
        }
        None
    }

    /// Adds a difference for each reference label that several components share.
    fn compare_labels(mut self, mismatches: &mut Mismatches) {
        self.labels.sort_unstable();
        for two in self.labels.windows(2).filter(|two| two[0] == two[1] && two[0] != Components::NONE) {
            mismatches.add(|| format!("label {} of the reference covers several components", two[0].cast_signed()));
        }
    }
}
