//! Generation and conversion of linked lists.

use super::cli::{ConvertArgs, ListArgs};
use super::{format_named, shown, threads};
use crate::convert::{self, WrittenList, write_list};
use crate::error::{Error, Result};
use crate::formats::input::stream::Stream;
use crate::formats::{Format, IdKind, Packing, WeightsOption};
use crate::list::{Generated, ListFormat, ListSource};
use crate::stdout;
use std::path::Path;

/// `gpugraph generate list`: generates a linked list and writes it to the output file.
pub(super) fn generate(args: &ListArgs) -> Result<()> {
    let output = &args.output;
    convert::writable(&output.output)?;
    let named = format_named(output.format.as_deref(), "--format")?;
    let format = list_format(&output.output, named, "--format")?;
    let source = ListSource::generated(Generated::new(args.length, args.kind, args.seed)?);
    // An element of a text file takes at least two bytes: a digit and a separator.
    let element = match format {
        ListFormat::List => 2,
        ListFormat::I32 => 4,
        ListFormat::I64 => 8,
    };
    if Packing::of(&output.output) == Packing::Plain {
        convert::room_for(&output.output, args.length.saturating_mul(element))?;
    }
    write("generate", &source, &output.output, format, output.threads)
}

/// `gpugraph convert` for linked lists: converts the input from format `from` to format `to`. [`formats`] finds both.
pub(super) fn convert(args: &ConvertArgs, from: ListFormat, to: ListFormat) -> Result<()> {
    let options = [
        (args.recursive, "--recursive"),
        (args.columns.is_some(), "--columns"),
        (args.skip_lines.is_some(), "--skip-lines"),
        (args.ids != IdKind::default(), "--ids"),
        (args.weights != WeightsOption::default(), "--weights"),
    ];
    if let Some((_, option)) = options.into_iter().find(|(given, _)| *given) {
        return Err(Error::Usage(format!("{option}: is for edges, and {} is a list", args.input.display())));
    }
    if let Some(stream) = Stream::of(&args.input) {
        let name = stream.name();
        return Err(Error::Usage(format!(
            "{name}: a list is read twice, so it can't come from a pipe; write it to a file first"
        )));
    }
    let source = ListSource::open(&args.input, Some(from))?;
    write("convert", &source, &args.output, to, args.threads)
}

fn write(name: &str, source: &ListSource, out: &Path, format: ListFormat, with: usize) -> Result<()> {
    let threads = threads(with)?;
    let done = shown(name, source.bytes(), |watch| write_list(source, out, format, threads, watch))?;
    let WrittenList { elements, bytes } = done;
    // The file is complete, so a closed stdout is no reason to fail.
    let _ = stdout::show(&format!("{}: {elements} elements in {bytes} bytes", out.display()));
    Ok(())
}

/// Format of one file of a conversion, its input or its output, as far as it is known.
#[derive(Clone, Copy)]
enum Side {
    List(ListFormat),
    /// An edge format that the user named.
    NamedEdges(Format),
    /// The edge format that the file's extension selects, or `None` if the extension is unknown.
    ByEnding(Option<Format>),
}

/// Returns the list formats (input, output), or `None` if neither file is a list. A `.txt` file counts as a list if
/// the other file is a list.
pub(super) fn formats(args: &ConvertArgs) -> Result<Option<(ListFormat, ListFormat)>> {
    let from = side(&args.input, args.from.as_deref(), "--from")?;
    let to = side(&args.output, args.to.as_deref(), "--to")?;
    if !matches!((from, to), (Side::List(_), _) | (_, Side::List(_))) {
        return Ok(None);
    }
    let resolve = |path: &Path, side, option, other: &Path| {
        let edges = match side {
            Side::List(format) => return Ok(format),
            Side::NamedEdges(format) => Some(format),
            // The extension `.txt` may mean edges or a list; other text extensions always mean edges.
            Side::ByEnding(format) => format.filter(|_| ListFormat::of(path, None).is_err()),
        };
        match edges {
            None => list_format(path, None, option),
            Some(format) => Err(Error::Usage(format!(
                "{}: {format} is a format of edges, and {} is a list; a list is converted between list, i32 and i64 ({option})",
                path.display(),
                other.display()
            ))),
        }
    };
    let both = (resolve(&args.input, from, "--from", &args.output)?, resolve(&args.output, to, "--to", &args.input)?);
    Ok(Some(both))
}

fn side(path: &Path, named: Option<&str>, option: &str) -> Result<Side> {
    let Some(name) = named.filter(|name| *name != "auto") else {
        return Ok(match ListFormat::by_ending(path) {
            Some(format) => Side::List(format),
            None => Side::ByEnding(Format::by_ending(path)),
        });
    };
    match (name.parse(), name.parse()) {
        (Ok(format), _) => Ok(Side::List(format)),
        (_, Ok(format)) => Ok(Side::NamedEdges(format)),
        (_, Err(e)) => Err(Error::Usage(format!("{option} {name}: {e}; of lists: list, i32, i64"))),
    }
}

/// Returns the list format `named`. If it is `None`, returns the format that the extension of `path` selects.
/// `option` is the command-line option that names a format, for error messages.
fn list_format(path: &Path, named: Option<ListFormat>, option: &str) -> Result<ListFormat> {
    ListFormat::of(path, named).map_err(|_| {
        let path = path.display();
        Error::Usage(format!("{path}: no list format has this ending; name list, i32 or i64 with {option}"))
    })
}
