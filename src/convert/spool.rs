//! Copies a stream to a file next to the output, because edges may be read several times.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::part::{self, failed};
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::formats::{Format, Input, Packing, Watch};
use crate::store::replace::target;

/// A copy of a stream under a temporary name. The copy is locked while it is in use, and is removed when dropped. If
/// the process is killed, the next process that writes the same output removes the copy.
pub struct StreamCopy {
    path: PathBuf,
    _locked: File,
    name: String,
    format: Format,
    packing: Packing,
}

impl StreamCopy {
    /// Copies all bytes of `stream`, which contains edges in `format`, for the output `out`.
    ///
    /// # Errors
    /// Bad input if the stream can't be read or is empty; [`Error::OutputFull`]; [`Error::Io`]; and any error that the
    /// watch returns.
    pub fn of(stream: &Stream, format: Format, out: &Path, watch: &dyn Watch) -> Result<StreamCopy> {
        let target = target(out)?;
        part::remove_abandoned(&target);
        let (path, file) = part::create(&target)?;
        let mut copy = StreamCopy { path, _locked: file, name: stream.name(), format, packing: Packing::Plain };
        let full = |bytes: u64, e| match failed("copy the input beside the file", &target, e) {
            Error::OutputFull { path, what } => {
                let what = format!("{bytes} bytes of {} were copied beside it, then: {what}", stream.name());
                Error::OutputFull { path, what }
            }
            other => other,
        };
        let copied = stream.open()?.copy_to(&copy._locked, &mut |_| (), &|| watch.advance(0), &full)?;
        if copied.bytes == 0 {
            return Err(stream.empty_stream_error());
        }
        copy.packing = copied.packing;
        Ok(copy)
    }

    /// Opens the copy as an input.
    ///
    /// # Errors
    /// Bad input if the bytes are not in the format.
    pub fn input(&self) -> Result<Input> {
        Input::spooled(&self.path, self.format, self.packing, self.name.clone()).map_err(|e| self.name_stream(e))
    }

    /// Turns an error about the copy into an error about the stream that was copied.
    pub fn name_stream(&self, error: Error) -> Error {
        error.name_stream(&self.path, &self.name)
    }
}

impl Drop for StreamCopy {
    fn drop(&mut self) {
        // A copy that can't be removed is hidden, and the next run of the same command removes it.
        let _ = std::fs::remove_file(&self.path);
    }
}
