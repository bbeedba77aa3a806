//! Copies a stream to a file next to the output, because the conversion may need several passes over the edges.

use std::fs::File;
use std::path::Path;

use super::part::{self, failed};
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::formats::{Format, Input, Packing, Watch};
use crate::store::replace::{TemporaryFile, target};

/// A copy of a stream under a temporary name. The copy is locked while it is in use, and removed when dropped. If the
/// process is killed, the next process that writes the same output removes the copy.
pub struct StreamCopy {
    /// Removes the copy when it is dropped. If that fails, the copy stays as a hidden file, and the next run of the
    /// same command removes it.
    temporary: TemporaryFile,
    _locked: File,
    name: String,
    format: Format,
    packing: Packing,
}

impl StreamCopy {
    /// Copies all bytes of `stream`, which contains edges in `format`, to a temporary file next to `out`.
    ///
    /// # Errors
    /// Bad input if the stream can't be read or is empty; [`Error::OutputFull`]; [`Error::Io`]; and any error that the
    /// watch returns.
    pub fn of(stream: &Stream, format: Format, out: &Path, watch: &dyn Watch) -> Result<StreamCopy> {
        let target = target(out)?;
        let (temporary, file) = part::create(&target)?;
        let full = |bytes: u64, e| match failed("copy the input beside the file", &target, e) {
            Error::OutputFull { path, what } => {
                let what = format!("{bytes} bytes of {} were copied beside it, then: {what}", stream.name());
                Error::OutputFull { path, what }
            }
            other => other,
        };
        let copied = stream.open()?.copy_to(&file, &mut |_| (), &|| watch.advance(0), &full)?;
        if copied.bytes == 0 {
            return Err(stream.empty_stream_error());
        }
        Ok(StreamCopy { temporary, _locked: file, name: stream.name(), format, packing: copied.packing })
    }

    /// Opens the copy as an input.
    ///
    /// # Errors
    /// Bad input if the bytes are not in the expected format.
    pub fn input(&self) -> Result<Input> {
        Input::spooled(self.temporary.path(), self.format, self.packing, self.name.clone())
            .map_err(|e| self.name_stream(e))
    }

    /// Converts an error about the copy to an error that names the original stream.
    pub fn name_stream(&self, error: Error) -> Error {
        error.name_stream(self.temporary.path(), &self.name)
    }
}
