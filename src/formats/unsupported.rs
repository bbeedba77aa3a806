//! Recognises edge files in unsupported formats by their extensions or first bytes, and rejects them with an error
//! that shows a command to convert them.

use std::io::Read;
use std::path::Path;

use crate::error::{At, Error, Result};
use crate::formats::format::endings;
use crate::formats::{Format, IdKind, Packing, Part, READS_PARQUET, ending, typed};

/// A file format that gpugraph recognises but does not read.
#[derive(Debug)]
pub(super) struct UnsupportedFormat {
    /// Name of the format in messages to the user.
    pub name: &'static str,
    /// File name extensions, none of which belongs to a supported format.
    endings: &'static [&'static str],
    /// Returns true if a file with these first bytes may be in this format.
    begins: fn(&[u8]) -> bool,
    /// Whether the first bytes of the format are so specific that no file of ids begins with them by chance.
    pub distinctive: bool,
    /// Advice that messages print before the command that converts or fetches a file.
    advice: &'static str,
    /// The command that converts or fetches a file, or the name of another file to read instead. IN stands for the
    /// file, and BASE for its name without the extension.
    line: &'static str,
}

/// The byte order mark with which some programs start UTF-8 text.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Default values of an [`UnsupportedFormat`]: its first bytes are distinctive, and its files can be converted.
const KNOWN: UnsupportedFormat =
    UnsupportedFormat { name: "", endings: &[], begins: |_| false, distinctive: true, advice: "convert it", line: "" };

/// All unsupported formats that are recognised. `tests/formats/foreign.rs` runs every command whose tool is installed.
const ALL: [UnsupportedFormat; 17] = [
    UnsupportedFormat {
        name: "a pointer of Git LFS, which stands for a file that is not here",
        begins: |start| start.starts_with(b"version https://git-lfs.github.com/spec/"),
        advice: "fetch that file within a clone of its repository",
        line: "git lfs pull",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "GraphML",
        endings: &["graphml"],
        begins: |start| is_xml_of(start, b"<graphml"),
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_graphml('IN')), 'IN.txt', data=False)\"",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "GEXF",
        endings: &["gexf"],
        begins: |start| is_xml_of(start, b"<gexf"),
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_gexf('IN')), 'IN.txt', data=False)\"",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "a page of HTML or XML",
        endings: &["html", "htm", "xml"],
        begins: is_page,
        advice: "a server may have sent it in place of the file, so read what it says, and fetch the file",
        line: "curl -fL -o IN URL",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "GML",
        endings: &["gml"],
        begins: is_gml,
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_gml('IN', label='id')), 'IN.txt', data=False)\"",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "Pajek's format",
        endings: &["net", "paj"],
        begins: |start| [&b"*vertices"[..], b"*network"].iter().any(|word| begins_with(start, word)),
        line: "awk '/^%/{next} /^[*]/{k=tolower($1);next} k~/^.(arcs|edges)$/{print $1,$2} \
               k~/list$/{for(i=2;i<=NF;i++)print $1,$i}' IN > IN.txt",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "Ligra's adjacency",
        endings: &["adj"],
        begins: |start| [&b"adjacencygraph"[..], b"weightedadjacencygraph"].iter().any(|word| begins_with(start, word)),
        line: "awk 'NR==2{n=$1} NR==3{m=$1} NR>3&&NR<=3+n{o[NR-4]=$1} \
               NR>3+n&&NR<=3+n+m{e=NR-4-n;while(u+1<n&&o[u+1]<=e)u++;print u+0,$1}' IN > IN.txt",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "Graphviz's DOT",
        endings: &["dot", "gv"],
        begins: is_dot,
        advice: "convert it by Graphviz's own program, and number the nodes if their names are words",
        line: "gvpr 'E{printf(\"%s %s\\n\", tail.name, head.name)}' IN > IN.txt",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "DIMACS's format of colorings",
        endings: &["col", "clq"],
        begins: is_coloring,
        line: "awk '$1==\"e\"{print $2,$3}' IN > IN.txt",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "WebGraph's BV",
        endings: &["properties", "offsets", "obl"],
        // Not recognised by first bytes, which differ between the files of a graph; see `is_webgraph`.
        distinctive: false,
        advice: "convert it by WebGraph's own program, which cargo install webgraph-cli has",
        line: "webgraph to arcs BASE > BASE.txt",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "a part of a Graphalytics graph that has no edges",
        // The extension of the properties file is also used by WebGraph; see `UnsupportedFormat::by_name`.
        endings: &["v"],
        distinctive: false,
        advice: "name the file of its edges alone, with directed = true if its properties say so",
        line: "BASE.e",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "HDF5",
        endings: &["h5", "hdf5", "hdf", "h5ad"],
        begins: |start| start.starts_with(b"\x89HDF\r\n\x1a\n"),
        advice: "convert it, where edges is its table of pairs",
        line: "python3 -c \"import h5py, numpy; numpy.save('IN.npy', h5py.File('IN')['edges'][()])\"",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "lines of JSON",
        endings: &["jsonl", "ndjson"],
        begins: is_json_lines,
        distinctive: false,
        advice: "convert it, if its lines are pairs or links between nodes",
        line: "python3 -c \"import json; n = {}; \
               [print(*(n.setdefault(x, len(n)) for x in ([a['source'], a['target']] if isinstance(a, dict) else a[:2]))) \
               for a in map(json.loads, open('IN'))]\" > IN.txt",
    },
    UnsupportedFormat {
        name: "JSON",
        endings: &["json"],
        begins: is_json,
        distinctive: false,
        advice: "convert it, if it is a list of pairs or of links between nodes",
        line: "python3 -c \"import json; d = json.load(open('IN')); n = {}; \
               e = d if isinstance(d, list) else d.get('links') or d['edges']; \
               [print(*(n.setdefault(x, len(n)) for x in ([a['source'], a['target']] if isinstance(a, dict) else a[:2]))) \
               for a in e]\" > IN.txt",
    },
    UnsupportedFormat {
        name: "a pickle of Python",
        endings: &["pkl", "pickle", "gpickle"],
        begins: |start| matches!(start, [0x80, 2..=5, ..]),
        distinctive: false,
        advice: "convert it, if it is a graph of networkx and from whom you trust",
        line: "python3 -c \"import pickle, networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(pickle.load(open('IN', 'rb'))), 'IN.txt', data=False)\"",
    },
    UnsupportedFormat {
        name: "a tar archive",
        endings: &["tar", "tgz", "tbz2", "txz"],
        begins: |start| start.get(257..262) == Some(b"ustar"),
        advice: "unpack it and name the folder",
        line: "mkdir IN.d && tar -xf IN -C IN.d",
        ..KNOWN
    },
    UnsupportedFormat {
        name: "a zip archive",
        endings: &["zip"],
        begins: |start| matches!(start, [b'P', b'K', 3, 4, 10 | 20 | 45, 0, ..]),
        advice: "give it the ending .npz if numpy wrote it; else unpack it and name the folder",
        line: "python3 -m zipfile -e IN IN.d",
        ..KNOWN
    },
];

impl UnsupportedFormat {
    /// Returns the unsupported format that a file's extension stands for; `None` if there is none.
    pub(super) fn by_name(path: &Path) -> Option<&'static UnsupportedFormat> {
        let ending = ending(path)?;
        let has_edges = ending == "properties" && path.with_extension("e").exists();
        UnsupportedFormat::by_ending(if has_edges { "v" } else { &ending })
    }

    fn by_ending(ending: &str) -> Option<&'static UnsupportedFormat> {
        ALL.iter().find(|kind| kind.endings.contains(&ending))
    }

    /// Returns the unsupported format that matches a file's first bytes, regardless of its name.
    pub(super) fn of(start: &[u8]) -> Option<&'static UnsupportedFormat> {
        let start = start.strip_prefix(MARK).unwrap_or(start);
        ALL.iter().find(|kind| (kind.begins)(start))
    }

    /// Returns the unsupported format that matches a file's first bytes. Returns `None` if there is none, or if a file
    /// of the expected format may begin with such bytes under the user's options.
    pub(super) fn by_bytes(part: &Part, start: &[u8]) -> Option<&'static UnsupportedFormat> {
        if part.format == Format::Npz && start.starts_with(b"PK") {
            return None;
        }
        if part.format == Format::Metis && is_webgraph(&part.path, start) {
            return UnsupportedFormat::by_ending("properties");
        }
        // Pairs and strings may begin with any bytes, and skipped lines with any words. So a file is accepted if the
        // user named a format of pairs or of strings, or skips lines.
        let (binary, skips) = (part.format.record().is_some(), part.text.skip_lines.unwrap_or(0) > 0);
        let is_any = binary || part.text.ids == IdKind::String;
        let believed = (is_any && part.named) || (skips && !binary);
        UnsupportedFormat::of(start).filter(|kind| !believed && (!binary || kind.distinctive))
    }

    /// Returns the advice for the file at `path`, which ends with a command. If the file is compressed, the command
    /// decompresses it first.
    pub(super) fn remedy(&self, path: &Path, packing: Packing) -> String {
        // GNU tar decompresses compressed archives itself.
        let (unpack, plain) = match packing {
            Packing::Plain | Packing::Zip => (None, path.to_owned()),
            _ if self.name == "a tar archive" => (None, path.to_owned()),
            packing => (Some(packing.name()), path.with_extension("")),
        };
        let (whole, plain) = (typed(path), typed(&plain));
        let base = plain.rsplit_once('.').map_or(plain.as_str(), |(base, _)| base);
        let line = self.line.replace("BASE", base).replace("IN", &plain);
        match unpack {
            Some(program) => format!("{}: {program} -dk {whole} && {line}", self.advice),
            None => format!("{}: {line}", self.advice),
        }
    }
}

/// Returns the format that the user named (`named`), or else the format that the file's extension stands for.
///
/// # Errors
/// Bad input if no format is named and the extension is unknown, or if this build does not read the format.
pub fn format_of(path: &Path, named: Option<Format>) -> Result<Format> {
    let format = named.or_else(|| Format::by_ending(path));
    if format == Some(Format::Parquet) && !READS_PARQUET {
        return Err(Error::input(path, At::File, "a format that this build reads", "Parquet", parquet_remedy(path)));
    }
    format.ok_or_else(|| {
        if let Some(kind) = UnsupportedFormat::by_name(path) {
            let remedy = kind.remedy(path, Packing::of(path));
            return Error::input(path, At::File, "a format that is read", kind.name, remedy);
        }
        let expected = format!("a name that says its format ({}, also with .gz, .zst, .bz2 or .xz behind)", endings());
        let found = ending(path).map_or("no ending".into(), |end| format!("the ending .{end}"));
        let remedy = "name the format (in a job [input] format, for convert --from or --to)";
        Error::input(path, At::File, expected, found, remedy)
    })
}

/// Returns the advice for a file that is Parquet according to its first bytes.
pub(super) fn parquet_remedy(path: &Path) -> String {
    if READS_PARQUET {
        return "give the file the ending .parquet, or name the format parquet".into();
    }
    format!("build gpugraph with it: cargo build --release --features parquet; or {}", conversion(&typed(path)))
}

/// Returns the command that converts the Parquet file `file`, for builds of gpugraph that do not read Parquet.
fn conversion(file: &str) -> String {
    format!(
        "convert the file, where source and target are its columns of ids: python3 -c \"import pandas as p, numpy as n; \
         n.save('{file}.npy', p.read_parquet('{file}', columns=['source', 'target']).to_numpy())\""
    )
}

/// Returns the first byte of `start` that is not whitespace.
fn first(start: &[u8]) -> Option<u8> {
    start.iter().copied().find(|c| !c.is_ascii_whitespace())
}

/// Returns true if `start` begins with `word`, ignoring case.
fn begins_with(start: &[u8], word: &[u8]) -> bool {
    start.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

fn is_xml_of(start: &[u8], element: &[u8]) -> bool {
    first(start) == Some(b'<') && start.windows(element.len()).any(|window| window == element)
}

/// Returns true if `start` is the beginning of an HTML page, or an XML file of any kind.
fn is_page(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let tags = [&b"<!doctype"[..], b"<html", b"<head", b"<body", b"<!--", b"<?xml", b"<error>"];
    tags.iter().any(|tag| begins_with(start, tag))
}

/// Returns true if `start` is the beginning of a GML file: `graph [`, after comments and the creator line.
fn is_gml(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.lines().map(str::trim_start);
    let begin = lines.find(|line| !(line.is_empty() || line.starts_with('#') || line.starts_with("Creator")));
    begin.and_then(|line| line.strip_prefix("graph")).is_some_and(|rest| {
        let rest = rest.trim();
        rest.starts_with('[') || (rest.is_empty() && lines.next().is_some_and(|line| line.starts_with('[')))
    })
}

/// Returns true if `start` is the beginning of a JSON list or object. A header line in brackets is neither.
fn is_json(start: &[u8]) -> bool {
    let mut bytes = start.iter().copied().filter(|c| !c.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), Some(b'"')) => true,
        (Some(b'['), Some(c)) => c.is_ascii_digit() || matches!(c, b'[' | b'{'),
        _ => false,
    }
}

/// Returns true if each of the first two lines is a JSON list or object.
fn is_json_lines(start: &[u8]) -> bool {
    let mut lines = start.split(|c| *c == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let is_one = |line: &[u8]| match (line.first(), line.last()) {
        (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')) => is_json(line),
        _ => false,
    };
    lines.next().is_some_and(is_one) && lines.next().is_some_and(is_json)
}

/// Returns true if `start` is the beginning of a Graphviz file, such as `digraph NAME {`, after comments.
fn is_dot(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let lines = text.lines().map(str::trim_start);
    let below = lines.skip_while(|line| line.is_empty() || line.starts_with("//") || line.starts_with('#'));
    let text = below.collect::<Vec<_>>().join(" ");
    let Some((head, _)) = text.split_once('{') else { return false };
    let mut words = head.split_ascii_whitespace().map(str::to_ascii_lowercase);
    let mut first = words.next();
    if first.as_deref() == Some("strict") {
        first = words.next();
    }
    matches!(first.as_deref(), Some("graph" | "digraph")) && !head.contains('[')
}

/// Returns true if `start` is the beginning of a DIMACS coloring file: `p edge` or `p col`, after comments.
fn is_coloring(start: &[u8]) -> bool {
    let mut lines = start.split(|c| *c == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.find(|line| !(line.is_empty() || *line == b"c" || line.starts_with(b"c ")));
    first.is_some_and(|line| line.starts_with(b"p edge ") || line.starts_with(b"p col "))
}

/// Returns true if the `.graph` file at `path` is a WebGraph file rather than METIS: it is binary, or a WebGraph
/// properties file is next to it.
fn is_webgraph(path: &Path, start: &[u8]) -> bool {
    let lines = start.first().is_some_and(|c| c.is_ascii_digit() || c.is_ascii_whitespace() || *c == b'%');
    let text = |c: &u8| matches!(c, b'\t' | b'\n' | b'\r' | b' '..);
    (!lines && !start.iter().take(256).all(text)) || has_properties(path).unwrap_or(false)
}

/// Returns true if the properties file of a WebGraph graph is next to `path`.
fn has_properties(path: &Path) -> std::io::Result<bool> {
    let mut text = String::new();
    std::fs::File::open(path.with_extension("properties"))?.take(4096).read_to_string(&mut text)?;
    Ok(text.contains("graphclass"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_without_parquet_prints_the_conversion_command() {
        let line = conversion("a.parquet");
        let wanted = "n.save('a.parquet.npy', p.read_parquet('a.parquet', columns=['source', 'target']).to_numpy())\"";
        assert!(line.ends_with(wanted) && !line.contains('\n') && !line.contains("  "), "{line}");
    }

    #[test]
    fn an_unknown_ending_is_refused() {
        let error = format_of(Path::new("x.dat.gz"), None).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains(".dat"), "{error}");
        assert!(format_of(Path::new("gz"), None).is_err());
    }
}
