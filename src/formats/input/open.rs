//! Opens a file of an input: finds its format and compression, and rejects files that can't be an input.

use std::io::Read;
use std::path::Path;

use crate::error::{At, Error, Result};
use crate::formats::input::EdgeSource;
use crate::formats::unsupported::format_of;
use crate::formats::{Columns, Format, IdKind, Input, Packing, Part, TextOptions, arrays, contents, ending};

/// Opens a file of an input, with the given compression or else the compression that its extension names.
pub(super) fn open(path: &Path, format: Option<Format>, packing: Option<Packing>) -> Result<Part> {
    let meta = std::fs::metadata(path).map_err(|e| Error::unreadable(path, &e))?;
    if !meta.is_file() {
        let remedy = "name a pipe or device by its own path, not by its folder";
        return Err(Error::input(path, At::File, "a regular file", "something else", remedy));
    }
    // Files of /proc and /sys have length 0 regardless of their contents.
    if meta.len() == 0 && std::fs::File::open(path).is_ok_and(|mut file| file.read(&mut [0]).is_ok_and(|n| n > 0)) {
        let remedy = format!("copy its contents to another file: cat {} > edges.txt", path.display());
        let found = "one of length 0 that is not empty";
        return Err(Error::input(path, At::File, "a file of known length", found, remedy));
    }
    let named = format.is_some();
    let format = match format_of(path, format)? {
        // NetworkX and other tools write text to files with this extension.
        Format::U32 if !named && ending(path).as_deref() == Some("edgelist") => {
            let start = contents::start_of(path, packing.unwrap_or_else(|| Packing::of(path)));
            if contents::is_text(&start) { Format::Text } else { Format::U32 }
        }
        format => format,
    };
    let mut part = Part::of(path.to_owned(), format, meta.len(), named, packing);
    if format == Format::Npz && part.packing != Packing::Zip {
        let remedy = "unpack it: the arrays within are packed already";
        return Err(Error::input(path, At::File, "an .npz archive", "a packed one", remedy));
    }
    if format == Format::Parquet && part.packing != Packing::Plain {
        let remedy = "unpack it: the pages within are packed already";
        return Err(Error::input(path, At::File, "a Parquet file", "a packed one", remedy));
    }
    // The scan reports errors in the header.
    if let Some((body, int)) = arrays::rows(&part) {
        part.records = Some((body, 2 * int.bytes as u64));
        part.narrow = int.bytes <= 4;
    }
    Ok(part)
}

/// Opens the file at `path`, which lists the vertices of the graph whose edges are `edges`. Each line is read as a
/// self-loop.
///
/// # Errors
/// Bad input if the file can't be read; [`Error::Usage`] if the edge format has a header, or if ids are strings.
pub(super) fn vertices(path: &Path, edges: &Input) -> Result<Input> {
    if let Some(part) =
        edges.parts().iter().find(|part| part.format.declares_vertices() || part.format.counts_from_one())
    {
        let why = "it has a header, so a list of vertices (input.vertices) does not apply: leave the list out";
        return Err(Error::Usage(format!("{}: {why}", part.path.display())));
    }
    if edges.has_names() {
        return Err(Error::Usage(format!("{}: a list of vertices is for ids that are numbers", path.display())));
    }
    let part = open(path, Some(Format::Text), None)?;
    let list = Input::of(EdgeSource::Files(vec![part]), path.display().to_string(), vec![path.to_owned()]);
    // Each line is a vertex, including a first line that looks like counts.
    let (columns, skip_lines) = (Columns::Numbers(vec![1, 1]), Some(0));
    list.with_text(TextOptions { columns, skip_lines, ..TextOptions::default() })
}

/// Returns an error if options for text and tables apply to none of the files, or if string ids are requested and not
/// all files support them.
///
/// # Errors
/// [`Error::Usage`].
pub(super) fn check_text(parts: &[Part], options: &TextOptions) -> Result<()> {
    let is_read = |part: &&Part| match part.format {
        Format::Text => true,
        Format::Parquet => options.skip_lines.unwrap_or(0) == 0,
        _ => false,
    };
    let other = match options.ids {
        IdKind::String => parts.iter().find(|part| !is_read(part)),
        IdKind::Number => parts.first().filter(|_| !options.are_default() && !parts.iter().any(|part| is_read(&part))),
    };
    let Some(part) = other else { return Ok(()) };
    let what = match options {
        TextOptions { skip_lines: Some(1..), .. } => "skip_lines is for text",
        TextOptions { ids: IdKind::String, .. } => "ids = \"string\" is for text and Parquet",
        _ => "columns are for text and Parquet",
    };
    Err(Error::Usage(format!("{}: {what}, and this is {}", part.path.display(), part.format)))
}
