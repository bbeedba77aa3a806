//! Files of edges in formats of others, which are not read: by their ending or their first bytes they are known, and refused
//! with the line that converts them.

use std::io::Read;
use std::path::Path;

use super::{Format, Packing, Part};

/// A format that is not read.
#[derive(Debug)]
pub(super) struct Foreign {
    /// What messages call it.
    name: &'static str,
    /// Endings of its files, none of which is that of a format that is read.
    endings: &'static [&'static str],
    /// Returns true for the first bytes of such a file.
    begins: fn(&[u8]) -> bool,
    /// True if these are too many to be those of an id.
    telling: bool,
    /// What to do by the line.
    advice: &'static str,
    /// The line, to be typed as it stands: IN is the file, BASE is the file without its ending.
    line: &'static str,
}

const ADVICE: &str = "convert it";

/// All that are known. Every line was tried: `tests/formats_foreign.rs` does so with those whose tools are there.
const ALL: [Foreign; 11] = [
    Foreign {
        name: "GraphML",
        endings: &["graphml"],
        begins: |start| is_xml_of(start, b"<graphml"),
        telling: true,
        advice: ADVICE,
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_graphml('IN')), 'IN.txt', data=False)\"",
    },
    Foreign {
        name: "GEXF",
        endings: &["gexf"],
        begins: |start| is_xml_of(start, b"<gexf"),
        telling: true,
        advice: ADVICE,
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_gexf('IN')), 'IN.txt', data=False)\"",
    },
    Foreign {
        name: "GML",
        endings: &["gml"],
        begins: is_gml,
        telling: true,
        advice: ADVICE,
        line: "python3 -c \"import networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(n.read_gml('IN', label='id')), 'IN.txt', data=False)\"",
    },
    Foreign {
        name: "Pajek's format",
        endings: &["net", "paj"],
        begins: |start| [&b"*vertices"[..], b"*network"].iter().any(|word| begins_with(start, word)),
        telling: true,
        advice: ADVICE,
        line: "awk '/^%/{next} /^[*]/{k=tolower($1);next} k~/^.(arcs|edges)$/{print $1,$2} \
               k~/list$/{for(i=2;i<=NF;i++)print $1,$i}' IN > IN.txt",
    },
    Foreign {
        name: "Ligra's adjacency",
        endings: &["adj"],
        begins: |start| [&b"adjacencygraph"[..], b"weightedadjacencygraph"].iter().any(|word| begins_with(start, word)),
        telling: true,
        advice: ADVICE,
        line: "awk 'NR==2{n=$1} NR==3{m=$1} NR>3&&NR<=3+n{o[NR-4]=$1} \
               NR>3+n&&NR<=3+n+m{e=NR-4-n;while(u+1<n&&o[u+1]<=e)u++;print u+0,$1}' IN > IN.txt",
    },
    Foreign {
        name: "WebGraph's BV",
        endings: &["properties", "offsets", "obl"],
        // No bytes are always there; see `is_webgraph`.
        begins: |_| false,
        telling: false,
        advice: "convert it by WebGraph's own program, which cargo install webgraph-cli has",
        line: "webgraph to arcs BASE > BASE.txt",
    },
    Foreign {
        name: "HDF5",
        endings: &["h5", "hdf5", "hdf", "h5ad"],
        begins: |start| start.starts_with(b"\x89HDF\r\n\x1a\n"),
        telling: true,
        advice: "convert it, where edges is its table of pairs",
        line: "python3 -c \"import h5py, numpy; numpy.save('IN.npy', h5py.File('IN')['edges'][()])\"",
    },
    Foreign {
        name: "JSON",
        endings: &["json"],
        begins: is_json,
        telling: false,
        advice: "convert it, if it is a list of pairs or of links between nodes",
        line: "python3 -c \"import json; d = json.load(open('IN')); n = {}; \
               e = d if isinstance(d, list) else d.get('links') or d['edges']; \
               [print(*(n.setdefault(x, len(n)) for x in ([a['source'], a['target']] if isinstance(a, dict) else a[:2]))) \
               for a in e]\" > IN.txt",
    },
    Foreign {
        name: "a pickle of Python",
        endings: &["pkl", "pickle", "gpickle"],
        begins: |start| matches!(start, [0x80, 2..=5, ..]),
        telling: false,
        advice: "convert it, if it is a graph of networkx and from whom you trust",
        line: "python3 -c \"import pickle, networkx as n; \
               n.write_edgelist(n.convert_node_labels_to_integers(pickle.load(open('IN', 'rb'))), 'IN.txt', data=False)\"",
    },
    Foreign {
        name: "a tar archive",
        endings: &["tar", "tgz", "tbz2", "txz"],
        begins: |start| start.get(257..262) == Some(b"ustar"),
        telling: true,
        advice: "unpack it and name the folder",
        line: "mkdir IN.d && tar -xf IN -C IN.d",
    },
    Foreign {
        name: "a zip archive",
        endings: &["zip"],
        begins: |start| matches!(start, [b'P', b'K', 3, 4, 10 | 20 | 45, 0, ..]),
        telling: true,
        advice: "give it the ending .npz if numpy wrote it; else unpack it and name the folder",
        line: "python3 -m zipfile -e IN IN.d",
    },
];

impl Foreign {
    /// Returns the format that an ending says.
    pub(super) fn by_ending(ending: &str) -> Option<&'static Foreign> {
        ALL.iter().find(|kind| kind.endings.contains(&ending))
    }

    /// Returns the format that the bytes at the start of a file say, unless they are what its name says.
    pub(super) fn by_bytes(part: &Part, start: &[u8]) -> Option<&'static Foreign> {
        if part.format().is_arrays() {
            return None;
        }
        if part.format() == Format::Metis && is_webgraph(part.path(), start) {
            return Foreign::by_ending("properties");
        }
        // Pairs may begin with any bytes, and lines that are to be skipped with any words: who says so is believed.
        let (binary, skips) = (part.format().record().is_some(), part.text().skip_lines.unwrap_or(0) > 0);
        let believed = if binary { part.is_named() } else { skips };
        ALL.iter().find(|kind| (kind.begins)(start)).filter(|kind| !believed && (!binary || kind.telling))
    }

    /// Returns what messages call it.
    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns what to do with the file at `path`, a line to be typed at its end.
    pub(super) fn remedy(&self, path: &Path) -> String {
        // tar unpacks by itself.
        let (unpack, plain) = match Packing::of(path) {
            Packing::Plain => (None, path.to_owned()),
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

/// Returns a path as it may stand in a line of the shell; IN with its ending where characters of it would need quotes.
fn typed(path: &Path) -> String {
    let plain = |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || b"/._-+=:,@%".contains(&c));
    match path.to_str() {
        Some(text) if plain(text) && !text.starts_with('-') => text.to_owned(),
        _ => path
            .extension()
            .and_then(|end| end.to_str())
            .filter(|end| plain(end))
            .map_or("IN".into(), |end| format!("IN.{end}")),
    }
}

/// Returns the first byte that is no blank.
fn first(start: &[u8]) -> Option<u8> {
    start.iter().copied().find(|c| !c.is_ascii_whitespace())
}

/// Returns true if `start` begins with `word`, in letters of either case.
fn begins_with(start: &[u8], word: &[u8]) -> bool {
    start.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
}

fn is_xml_of(start: &[u8], element: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    first(start) == Some(b'<') && start.windows(element.len()).any(|window| window == element)
}

/// Returns true for `graph [`, below comments and the name of who wrote it.
fn is_gml(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    let mut lines = text.lines().map(str::trim_start);
    let begin = lines.find(|line| !(line.is_empty() || line.starts_with('#') || line.starts_with("Creator")));
    begin.and_then(|line| line.strip_prefix("graph")).is_some_and(|rest| {
        let rest = rest.trim();
        rest.starts_with('[') || (rest.is_empty() && lines.next().is_some_and(|line| line.starts_with('[')))
    })
}

/// Returns true for what begins as lists or objects do; a heading in brackets does not.
fn is_json(start: &[u8]) -> bool {
    let mut bytes = start.iter().copied().filter(|c| !c.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), Some(b'"')) => true,
        (Some(b'['), Some(c)) => c.is_ascii_digit() || matches!(c, b'[' | b'{'),
        _ => false,
    }
}

/// Returns true for a `.graph` that is not of METIS: one with properties beside it, or one that is no text.
fn is_webgraph(path: &Path, start: &[u8]) -> bool {
    let lines = start.first().is_some_and(|c| c.is_ascii_digit() || c.is_ascii_whitespace() || *c == b'%');
    let text = |c: &u8| matches!(c, b'\t' | b'\n' | b'\r' | b' '..);
    (!lines && !start.iter().take(256).all(text)) || has_properties(path).unwrap_or(false)
}

/// Returns true if the properties of a graph of WebGraph are beside `path`.
fn has_properties(path: &Path) -> std::io::Result<bool> {
    let mut text = String::new();
    std::fs::File::open(path.with_extension("properties"))?.take(4096).read_to_string(&mut text)?;
    Ok(text.contains("graphclass"))
}
