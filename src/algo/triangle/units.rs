//! Checks that journals and checkpoints of a count are consistent and agree with its result.

use crate::algo::triangle::output::TriangleOutput;
use crate::algo::triangle::per_vertex::SavedCounts;
use crate::algo::{StoredUnits, UnitsContent};
use crate::error::{At, Error, Result};

/// Checks the units of one trial. Returns a description of what it found.
///
/// # Errors
/// [`Error::Corrupt`] if no count can have written the units; [`Error::Validation`] if their sum is not the result.
pub(super) fn verify(units: &StoredUnits<'_>, output: Option<&TriangleOutput>) -> Result<String> {
    let (number, triangles) = match &units.content {
        UnitsContent::Records(records) => {
            let mut sum = 0;
            for record in *records {
                let [triangles, _, _] = record.words().ok_or_else(|| {
                    let what = format!("the result of unit {} is not a count of triangles", record.unit);
                    Error::corrupt(units.path, At::File, what)
                })?;
                sum += u128::from(triangles);
            }
            (records.len() as u64, sum)
        }
        UnitsContent::Checkpoint(saved) => {
            let counted = SavedCounts::read(saved, units.vertices)?;
            let (corners, triangles) = (counted.corners(), counted.sum.triangles);
            if corners != 3 * triangles {
                let what = format!("{corners} corners of {triangles} triangles, not three times as many");
                return Err(Error::corrupt(units.path, At::File, what));
            }
            (counted.units.len() as u64, triangles)
        }
    };
    match output {
        Some(output) if units.total == number && triangles != output.triangles => Err(Error::Validation(format!(
            "{}: all units have {triangles} triangles, the manifest {}",
            units.path.display(),
            output.triangles
        ))),
        _ => Ok(format!("{number} units with {triangles} triangles")),
    }
}
