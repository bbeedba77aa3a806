//! Writes linked lists: the format `list` is the length and then one successor per line, `i32` and `i64` are arrays.

use parking_lot::Mutex;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::encode::number;
use super::output::OutputFile;
use crate::error::{At, Error, Result};
use crate::formats::Watch;
use crate::list::{ListFormat, ListSource, MAX_NARROW, each_chunk};
use crate::store::replace::target;

/// Number of elements that a thread encodes at a time.
const ELEMENTS: u64 = 1 << 19;

/// The size of a list file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenList {
    /// Number of elements.
    pub elements: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
}

/// Writes the list of `source` to `out` in `format` with `threads` threads. The file is packed if the extension of
/// `out` is that of a packing. Needs a few megabytes of memory per thread in addition to
/// [`ListSource::scratch_bytes`]. The file appears only when it is complete, and its bytes do not depend on the number
/// of threads. `watch` advances by [`ListSource::bytes`].
///
/// # Errors
/// [`Error::Usage`] if the output is the input; bad input if the source can't be read or is too long for the format;
/// an error if the file can't be written; and any error that the watch returns.
pub fn write_list(
    source: &ListSource,
    out: &Path,
    format: ListFormat,
    threads: usize,
    watch: &dyn Watch,
) -> Result<WrittenList> {
    refuse_overlap(source, out)?;
    let elements = source.length_watched(threads, watch)?;
    if format == ListFormat::I32 && elements > MAX_NARROW {
        let expected = format!("at most {MAX_NARROW} elements for i32");
        return Err(Error::input(source.name(), At::File, expected, elements.to_string(), "choose i64"));
    }
    let output = OutputFile::create(out)?;
    if format == ListFormat::List {
        output.push(format!("{elements}\n").as_bytes())?;
    }
    if source.is_packed() {
        in_order(source, elements, format, &output, watch)?;
    } else {
        each_chunk(0..elements.div_ceil(ELEMENTS), threads, |chunk, buffer| {
            let range = chunk * ELEMENTS..elements.min((chunk + 1) * ELEMENTS);
            let bytes = Mutex::new(std::mem::take(buffer));
            let done = source.scan(range, 1, watch, &|_, successors| {
                encode(successors, format, &mut bytes.lock());
                Ok(())
            });
            *buffer = bytes.into_inner();
            let done = done.and_then(|()| output.append(chunk, buffer));
            buffer.clear();
            done.inspect_err(|_| output.stop())
        })?;
    }
    Ok(WrittenList { elements, bytes: output.finish()? })
}

/// Writes a list with a single thread, because the source is packed and can only be read from start to end.
fn in_order(
    source: &ListSource,
    elements: u64,
    format: ListFormat,
    output: &OutputFile,
    watch: &dyn Watch,
) -> Result<()> {
    let encoded = Mutex::new(Vec::new());
    source.scan(0..elements, 1, watch, &|first, successors| {
        let mut bytes = encoded.lock();
        encode(successors, format, &mut bytes);
        let is_last = first + successors.len() as u64 == elements;
        if !bytes.is_empty() && (is_last || bytes.len() as u64 >= 8 * ELEMENTS) {
            output.push(&bytes)?;
            bytes.clear();
        }
        Ok(())
    })
}

/// Returns an error if the output is the input file, under any name.
fn refuse_overlap(source: &ListSource, out: &Path) -> Result<()> {
    let id = |path: &Path| path.metadata().ok().map(|meta| (meta.dev(), meta.ino()));
    match (source.path(), id(&target(out)?)) {
        (Some(path), Some(there)) if id(path) == Some(there) => {
            Err(Error::Usage(format!("{}: is the input; write to another file", out.display())))
        }
        _ => Ok(()),
    }
}

/// Appends successors in the given format.
fn encode(successors: &[i64], format: ListFormat, out: &mut Vec<u8>) {
    let start = out.len();
    match format {
        ListFormat::I32 => {
            out.resize(start + 4 * successors.len(), 0);
            let words = out[start..].as_chunks_mut::<4>().0.iter_mut();
            words.zip(successors).for_each(|(bytes, successor)| *bytes = (*successor as i32).to_le_bytes());
        }
        ListFormat::I64 => {
            out.resize(start + 8 * successors.len(), 0);
            let words = out[start..].as_chunks_mut::<8>().0.iter_mut();
            words.zip(successors).for_each(|(bytes, successor)| *bytes = successor.to_le_bytes());
        }
        ListFormat::List => {
            for successor in successors {
                match u64::try_from(*successor) {
                    Ok(successor) => number(out, successor.into()),
                    Err(_) => out.extend_from_slice(b"-1"),
                }
                out.push(b'\n');
            }
        }
    }
}
