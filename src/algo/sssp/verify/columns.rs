//! Reads the result columns of a source (distances and parents), and permutes them into the order of vertices. Refuses
//! values that no search can have written.

use crate::algo::Results;
use crate::algo::searches::differs;
use crate::algo::searches::places::Places;
use crate::algo::sssp::distances::Distances;
use crate::algo::sssp::search::NONE;
use crate::error::Result;
use crate::formats::WeightType;
use crate::graph::ids::InputId;
use crate::memory::Buffer;
use crate::prepare::relabel::ISOLATED;
use crate::results::Value;

/// The distances and parents of a source, as read from its columns.
pub(super) struct PathColumns {
    /// Position of the source in the order of vertices, or `None` if the source has no edge.
    pub root: Option<u32>,
    pub distances: Distances,
    /// Parent of each vertex, as a position in the order of vertices.
    pub parents: Buffer<u32>,
}

impl PathColumns {
    /// Reads the result columns of `source`. `kind` is the type of the weights.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] for columns that no search can have written; [`crate::Error::Limit`]; read errors.
    pub fn read(places: &Places, results: &Results<'_>, source: InputId, kind: WeightType) -> Result<PathColumns> {
        let vertices = places.vertices() as usize;
        let mut distances = Distances::new(kind, vertices, results.budget)?;
        let mut parents = results.budget.zeroed(vertices, "parents to verify (4 bytes a vertex and source)")?;
        let root = match &mut distances {
            Distances::Whole(of) => read(places, results, source, (u64::MAX, 0, |_| true), (of, &mut parents))?,
            Distances::Decimal(of) => {
                let is_sum = |sum: f32| !sum.is_nan() && sum.is_sign_positive();
                read(places, results, source, (f32::INFINITY, 0.0, is_sum), (of, &mut parents))?
            }
            Distances::Double(of) => {
                let is_sum = |sum: f64| !sum.is_nan() && sum.is_sign_positive();
                read(places, results, source, (f64::INFINITY, 0.0, is_sum), (of, &mut parents))?
            }
        };
        Ok(PathColumns { root, distances, parents })
    }

    /// Returns true if no vertex with an edge is reached, according to the columns.
    pub fn are_empty(&self) -> bool {
        (0..self.parents.len()).all(|v| self.parents[v] == NONE && self.distances.of(v as u32).is_none())
    }
}

/// Reads the distances and the parents of `source` into arrays in the order of vertices. Returns the position of the
/// root in this order, or `None` if the root has no edge.
fn read<T: Value + PartialEq + Copy>(
    places: &Places,
    results: &Results<'_>,
    source: InputId,
    (unreached, zero, is_sum): (T, T, impl Fn(T) -> bool),
    (distances, parents): (&mut [T], &mut [u32]),
) -> Result<Option<u32>> {
    let of_rows = places.of_rows()?;
    let place = |row: u64| of_rows.get(row as usize).copied().filter(|&place| place != ISOLATED);
    let refuse = |what: String| Err(differs(source, &what));
    let root = places.ids.row_of(source).ok_or_else(|| differs(source, "no vertex of the input"))?;
    places.each_row(results, ("sssp", source), ("distance", unreached), |row, parent, distance| {
        let name = places.ids.label(row);
        if !is_sum(distance) {
            let distance = distance.shown();
            return refuse(format!("vertex {name} is at distance {distance}, which is not a sum of weights"));
        }
        let above = match places.ids.named(parent, distance != unreached) {
            None if parent == -1 => NONE,
            None => return refuse(format!("vertex {name} has parent {parent}")),
            Some(parent) => match places.ids.row_of(parent) {
                None => return refuse(format!("the parent of vertex {name} is {parent}, which is no vertex")),
                Some(of) if place(row).is_none() && of == row && row == root => NONE,
                Some(of) => match place(of) {
                    Some(above) => above,
                    None => return refuse(format!("the parent of vertex {name} is {parent}, which has no edge")),
                },
            },
        };
        match place(row) {
            Some(vertex) => {
                distances[vertex as usize] = distance;
                parents[vertex as usize] = above;
            }
            None if row == root && parent != places.ids.number(root) as i64 => {
                return refuse(format!("the parent of the root is {parent} and not the root"));
            }
            None if row == root && distance != zero => return refuse("the root is not at distance 0".into()),
            None if row != root && (above != NONE || distance != unreached) => {
                return refuse(format!("vertex {name} was reached and has no edge"));
            }
            None => {}
        }
        Ok(())
    })?;
    Ok(place(root))
}
