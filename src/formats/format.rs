//! The file formats of edges, with their names and file name extensions.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// A file format of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Little-endian pairs of `u32`: 8 bytes per edge.
    U32,
    /// Little-endian pairs of `u64`: 16 bytes per edge.
    U64,
    /// Text in the style of SNAP: one edge per line, usually with 0-based ids; comments start with `#` or `%`.
    Text,
    /// Matrix Market coordinate format, with 1-based ids.
    Mtx,
    /// METIS adjacency lists, with 1-based ids.
    Metis,
    /// DIMACS shortest path format, with 1-based ids.
    Gr,
    /// `packed_edge` of the Graph500 reference: 12 bytes per edge, 48-bit ids.
    Graph500,
    /// A numpy array of pairs, with any integer type.
    Npy,
    /// A numpy archive that contains a scipy sparse matrix or an array of pairs.
    Npz,
    /// A serialized graph of the GAP Benchmark Suite.
    Sg,
    /// A serialized graph of the GAP Benchmark Suite, with weights.
    Wsg,
    /// Two id columns of an Apache Parquet table.
    Parquet,
}

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Not compressed.
    Plain,
    /// gzip, with one or more members.
    Gzip,
    /// Zstandard, with one or more frames.
    Zstd,
    /// bzip2, with one or more streams.
    Bzip2,
    /// xz, with one or more streams.
    Xz,
    /// zip archive, such as `.npz`.
    Zip,
}

/// The properties of a file format, which [`DESCRIPTIONS`] declares for each format.
struct Description {
    format: Format,
    /// Name of the format in job files and on the command line.
    name: &'static str,
    /// File name extensions of the format. gpugraph uses the first one for files that it writes.
    endings: &'static [&'static str],
    layout: Storage,
    /// Whether ids in files of the format are 1-based.
    counts_from_one: bool,
    /// Whether the header of a file declares the number of vertices.
    declares_vertices: bool,
    /// Whether gpugraph writes files in this format. `writes_weights` states whether it also writes weights to them.
    is_written: bool,
    writes_weights: bool,
}

/// How a file stores its edges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Fixed-size records, one per edge. The number is the size of a record in bytes.
    Records(u64),
    /// Lines of text.
    Lines,
    /// A header and arrays of numbers.
    Arrays,
    /// A table in which two columns contain the ends of the edges.
    Columns,
}

/// Properties that formats with 0-based ids share if gpugraph writes them without weights.
const PLAIN: Description = Description {
    format: Format::U32,
    name: "",
    endings: &[],
    layout: Storage::Records(8),
    counts_from_one: false,
    declares_vertices: false,
    is_written: true,
    writes_weights: false,
};

/// Properties that text formats with 1-based ids, a vertex count in the header, and weights share.
const LINES_FROM_ONE: Description = Description {
    layout: Storage::Lines,
    counts_from_one: true,
    declares_vertices: true,
    writes_weights: true,
    ..PLAIN
};

/// Properties that formats of arrays share if gpugraph only reads them.
const READ_ARRAYS: Description =
    Description { layout: Storage::Arrays, is_written: false, declares_vertices: true, ..PLAIN };

/// Properties of all file formats, in the order in which the documentation lists the formats.
const DESCRIPTIONS: [Description; 12] = [
    Description { name: "u32", endings: &["u32", "bin", "edgelist"], ..PLAIN },
    Description { format: Format::U64, name: "u64", endings: &["u64"], layout: Storage::Records(16), ..PLAIN },
    Description {
        format: Format::Text,
        name: "text",
        endings: &["txt", "el", "e", "csv", "tsv", "wel"],
        layout: Storage::Lines,
        writes_weights: true,
        ..PLAIN
    },
    Description { format: Format::Mtx, name: "mtx", endings: &["mtx"], ..LINES_FROM_ONE },
    Description { format: Format::Metis, name: "metis", endings: &["metis", "graph"], ..LINES_FROM_ONE },
    Description { format: Format::Gr, name: "gr", endings: &["gr"], ..LINES_FROM_ONE },
    Description {
        format: Format::Graph500,
        name: "graph500",
        endings: &["graph500"],
        layout: Storage::Records(12),
        writes_weights: true,
        ..PLAIN
    },
    Description { format: Format::Npy, name: "npy", endings: &["npy"], layout: Storage::Arrays, ..PLAIN },
    Description { format: Format::Npz, name: "npz", endings: &["npz"], ..READ_ARRAYS },
    Description { format: Format::Sg, name: "sg", endings: &["sg"], ..READ_ARRAYS },
    Description { format: Format::Wsg, name: "wsg", endings: &["wsg"], ..READ_ARRAYS },
    Description {
        format: Format::Parquet,
        name: "parquet",
        endings: &["parquet", "parq", "pq"],
        layout: Storage::Columns,
        is_written: false,
        ..PLAIN
    },
];

impl Format {
    /// All file formats, in the order in which the documentation lists them.
    pub const ALL: [Format; DESCRIPTIONS.len()] = {
        let (mut all, mut at) = ([Format::U32; DESCRIPTIONS.len()], 0);
        while at < all.len() {
            (all[at], at) = (DESCRIPTIONS[at].format, at + 1);
        }
        all
    };

    fn description(self) -> &'static Description {
        &DESCRIPTIONS[self as usize]
    }

    /// Returns the name of the format in job files and on the command line.
    pub fn name(self) -> &'static str {
        self.description().name
    }

    /// Returns the usual file name extension of this format, without a dot.
    pub fn ending(self) -> &'static str {
        self.description().endings[0]
    }

    /// Returns the format that the extension of a file name stands for; `None` if the extension is unknown. A final
    /// extension that stands for a compression, such as `.gz`, is ignored.
    pub fn by_ending(path: &Path) -> Option<Format> {
        let ending = ending(path)?;
        let known = DESCRIPTIONS.iter().find(|of| of.endings.contains(&ending.as_str())).map(|of| of.format);
        // Files of KONECT are called out.NAME, where NAME is not an extension.
        let is_of_konect =
            || path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("out."));
        known.or_else(|| is_of_konect().then_some(Format::Text))
    }

    /// Returns true for formats with 1-based ids.
    pub fn counts_from_one(self) -> bool {
        self.description().counts_from_one
    }

    /// Returns true for formats whose header declares the number of vertices.
    pub fn declares_vertices(self) -> bool {
        self.description().declares_vertices
    }

    /// Returns true for formats that consist of a header and arrays of numbers.
    pub fn is_arrays(self) -> bool {
        self.description().layout == Storage::Arrays
    }

    /// Returns true for formats of text lines.
    pub(crate) fn is_lines(self) -> bool {
        self.description().layout == Storage::Lines
    }

    /// Returns true if gpugraph can write files in this format.
    pub fn is_written(self) -> bool {
        self.description().is_written
    }

    /// Returns true for formats that can store weights and that gpugraph can write.
    pub fn writes_weights(self) -> bool {
        self.description().writes_weights
    }

    /// Returns the number of bytes per edge if the format has fixed-size records; otherwise `None`.
    pub fn record(self) -> Option<u64> {
        if let Storage::Records(bytes) = self.description().layout { Some(bytes) } else { None }
    }
}

/// Returns all known file name extensions, each with its dot, separated by blanks.
pub(super) fn endings() -> String {
    let all = DESCRIPTIONS.iter().flat_map(|of| of.endings);
    all.map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" ")
}

impl Packing {
    /// Returns the compression that the extension of a file name stands for; `Plain` for all other extensions.
    pub fn of(path: &Path) -> Packing {
        let packed = [Packing::Gzip, Packing::Zstd, Packing::Bzip2, Packing::Xz];
        let ending = last_ending(path).map(|ending| format!(".{ending}"));
        packed.into_iter().find(|packing| ending.as_deref() == Some(packing.ending())).unwrap_or(Packing::Plain)
    }

    /// Returns the extension of compressed files, with its dot; an empty string for `Plain` and `Zip`.
    pub fn ending(self) -> &'static str {
        ["", ".gz", ".zst", ".bz2", ".xz", ""][self as usize]
    }

    /// Returns true if a file with this compression may begin with the bytes `start`, or if `start` is too short to
    /// decide. For `Plain` and `Zip`, any bytes match.
    pub(crate) fn may_begin(self, start: &[u8]) -> bool {
        let begins = |magic: &[u8]| magic.starts_with(start) || start.starts_with(magic);
        match self {
            Packing::Plain | Packing::Zip => true,
            Packing::Gzip => begins(&[0x1f, 0x8b]),
            // A zstd file may begin with a skippable frame.
            Packing::Zstd => begins(&[0x28, 0xb5, 0x2f, 0xfd]) || matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]),
            Packing::Bzip2 => begins(b"BZh"),
            Packing::Xz => begins(b"\xfd7zXZ\0"),
        }
    }

    /// Returns the name of the compression for messages.
    pub(crate) fn name(self) -> &'static str {
        ["plain", "gzip", "zstd", "bzip2", "xz", "zip"][self as usize]
    }
}

/// Returns the extension of a file name if it stands for a compression, such as `.gz`, in its original case; otherwise
/// `None`.
pub(crate) fn packed_ending(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    (Packing::of(path) != Packing::Plain).then(|| &name[name.rfind('.').unwrap_or(name.len())..])
}

/// Returns the extension of a file name in lower case. A final extension that stands for a compression, such as `.gz`,
/// is ignored.
pub(crate) fn ending(path: &Path) -> Option<String> {
    match Packing::of(path) {
        Packing::Plain => last_ending(path),
        _ => last_ending(Path::new(path.file_stem()?)),
    }
}

fn last_ending(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// Returns a path for use in a shell command. A path that would need quotes is replaced by `IN` and the extension of
/// the path.
pub(crate) fn typed(path: &Path) -> String {
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

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Format::ALL.into_iter().find(|f| f.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
            format!("unknown format {name:?}: one of {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings() {
        for format in Format::ALL {
            assert_eq!(format.description().format, format);
            assert_eq!(format.name().parse(), Ok(format));
            assert_eq!(Format::by_ending(Path::new(&format!("x.{}.gz", format.ending()))), Some(format));
            assert_eq!(serde_json::to_string(&format).unwrap(), format!("\"{format}\""));
            assert_eq!(Format::by_ending(Path::new(&format!("a/b.{format}.gz"))).is_some(), format != Format::Text);
        }
        assert_eq!(Format::by_ending(Path::new("x.TXT.zst")), Some(Format::Text));
        assert_eq!(Format::by_ending(Path::new("s29.e10.kron.edgelist")), Some(Format::U32));
        assert_eq!(Packing::of(Path::new("x.txt.gz")), Packing::Gzip);
        assert_eq!(Format::by_ending(Path::new("a/out.petster-hamster")), Some(Format::Text));
        assert_eq!(Format::by_ending(Path::new("out.ego-facebook.gz")), Some(Format::Text));
        assert_eq!(Format::by_ending(Path::new("out.u64")), Some(Format::U64));
        assert_eq!(Format::by_ending(Path::new("out")), None);
        assert!("U32".parse::<Format>().is_err());
    }
}
