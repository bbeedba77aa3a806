//! From `[input]` to edges.

use crate::config::InputSpec;
use crate::error::{Error, Result};
use crate::formats::Input;
use crate::generate::Generator;

/// Opens the edges that a job names; `prepared` is not among them.
///
/// # Errors
/// [`Error::Input`] for files that are missing or of unknown format.
pub fn open(spec: &InputSpec) -> Result<Input> {
    match spec {
        InputSpec::Files { paths, format } => {
            let format = format
                .as_deref()
                .map(str::parse)
                .transpose()
                .map_err(|e| Error::Usage(format!("input.format: {e}")))?;
            Input::open(paths, format)
        }
        InputSpec::Kronecker(random) => {
            Ok(Input::generated(Generator::kronecker(random.scale, random.edge_factor, random.seed)?))
        }
        InputSpec::Uniform(random) => {
            Ok(Input::generated(Generator::uniform(random.scale, random.edge_factor, random.seed)?))
        }
        InputSpec::Prepared(workdir) => {
            Err(Error::Usage(format!("{}: a prepared graph is not read as edges", workdir.display())))
        }
    }
}
