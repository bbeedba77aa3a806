//! Writers and parsers of weighted files, from the formats' descriptions, which share no code with the crate.

use std::io::{Read, Write};
use std::path::Path;

use super::{Edge, both_ways};

/// Returns the bytes of `list` in the format that `name` says, and those of a file of weights.
pub fn bytes(name: &str, list: &[Edge]) -> (Vec<u8>, Option<Vec<u8>>) {
    let whole = list.iter().all(|(.., weight)| weight.fract() == 0.0);
    let rows = list.iter().map(|(u, v, _)| u.max(v) + 1).max().unwrap_or(0);
    let lines = |line: &dyn Fn(&Edge) -> String| list.iter().map(line).collect::<String>();
    let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
    let (bytes, weights) = match plain.rsplit('.').next().expect("an ending") {
        "txt" | "wel" => (lines(&|(u, v, w)| format!("{u} {v} {w}\n")).into_bytes(), None),
        "csv" => (format!("weight,src,dst\n{}", lines(&|(u, v, w)| format!("{w},{u},{v}\n"))).into_bytes(), None),
        "el" => (lines(&|(u, v, w)| format!("{u} {v} {{'a': '}}', 'weight': {w}}}\n")).into_bytes(), None),
        "mtx" => {
            let field = if whole { "integer" } else { "real" };
            let edges = lines(&|(u, v, w)| format!("{} {} {w}\n", u + 1, v + 1));
            let head = format!("%%MatrixMarket matrix coordinate {field} general\n{rows} {rows} {}\n", list.len());
            ((head + &edges).into_bytes(), None)
        }
        "gr" => {
            let edges = lines(&|(u, v, w)| format!("a {} {} {w}\n", u + 1, v + 1));
            (format!("c made\np sp {rows} {}\n{edges}", list.len()).into_bytes(), None)
        }
        "graph" => {
            let both = both_ways(list);
            let mut text = format!("{rows} {} 011 2\n", both.len() / 2);
            for row in 0..rows {
                text.push_str("7 8");
                for (_, v, w) in both.iter().filter(|(u, ..)| *u == row) {
                    text.push_str(&format!(" {} {w}", v + 1));
                }
                text.push('\n');
            }
            (text.into_bytes(), None)
        }
        "graph500" => {
            let packed = |&(u, v, _): &Edge| {
                let high = (u >> 32) as u32 | ((v >> 32) as u32) << 16;
                [u as u32, v as u32, high].into_iter().flat_map(u32::to_le_bytes)
            };
            let weights = list.iter().flat_map(|(.., w)| (*w as f32).to_le_bytes()).collect();
            (list.iter().flat_map(packed).collect(), Some(weights))
        }
        "wsg" => {
            let (both, offsets) = sorted(list, rows);
            let mut bytes = vec![0];
            for word in [both.len() as i64, rows as i64].into_iter().chain(offsets) {
                bytes.extend(word.to_le_bytes());
            }
            for (_, v, w) in both {
                bytes.extend((v as i32).to_le_bytes());
                bytes.extend((w as i32).to_le_bytes());
            }
            (bytes, None)
        }
        "npz" => (npz(list, rows, if whole { "<i4" } else { "<f4" }, "csr"), None),
        ending => panic!("no writer of {ending}"),
    };
    let bytes = if name.ends_with(".gz") {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::new(1));
        encoder.write_all(&bytes).expect("packed");
        encoder.finish().expect("packed")
    } else if name.ends_with(".zst") {
        zstd::encode_all(bytes.as_slice(), 1).expect("packed")
    } else {
        bytes
    };
    (bytes, weights)
}

/// Returns the edges from both ends in order of the first, and where each row begins.
fn sorted(list: &[Edge], rows: u64) -> (Vec<Edge>, Vec<i64>) {
    let mut both = both_ways(list);
    both.sort_by_key(|(u, ..)| *u);
    let offsets = (0..=rows).map(|row| both.iter().filter(|(u, ..)| *u < row).count() as i64).collect();
    (both, offsets)
}

/// Returns scipy's archive of a matrix (csr from both ends, coo and csc as the list is), whose values are of type `kind`.
pub fn npz(list: &[Edge], rows: u64, kind: &str, format: &str) -> Vec<u8> {
    let (both, offsets) = sorted(list, rows);
    let words = |numbers: &mut dyn Iterator<Item = u64>| numbers.flat_map(u64::to_le_bytes).collect::<Vec<u8>>();
    let mut by_column = list.to_vec();
    by_column.sort_by_key(|(_, v, _)| *v);
    let (edges, offsets) = match format {
        "csr" => (both.as_slice(), offsets),
        "csc" => {
            let before = |column: u64| list.iter().filter(|(_, v, _)| *v < column).count() as i64;
            (by_column.as_slice(), (0..=rows).map(before).collect())
        }
        _ => (list, offsets),
    };
    let data = edges.iter().flat_map(|(.., w)| match kind {
        "<i4" => (*w as i32).to_le_bytes().to_vec(),
        "<f4" => (*w as f32).to_le_bytes().to_vec(),
        ">f8" => w.to_be_bytes().to_vec(),
        ">u2" => (*w as u16).to_be_bytes().to_vec(),
        "|i1" => (*w as i8).to_le_bytes().to_vec(),
        "|b1" => vec![u8::from(*w != 0.0)],
        "<c8" => [(*w as f32).to_le_bytes(), [0; 4]].concat(),
        other => panic!("no values of {other}"),
    });
    let count = edges.len();
    let word = format.as_bytes();
    let mut members = vec![
        ("format", array(&format!("|S{}", word.len()), "()", word.to_vec())),
        ("shape", array("<i8", "(2,)", words(&mut [rows, rows].into_iter()))),
        ("data", array(kind, &format!("({count},)"), data.collect())),
    ];
    let ids = |of: &dyn Fn(&Edge) -> u64| {
        array("<i8", &format!("({count},)"), edges.iter().flat_map(|edge| of(edge).to_le_bytes()).collect())
    };
    if format != "coo" {
        let offsets = words(&mut offsets.into_iter().map(|offset| offset as u64));
        members.push(("indptr", array("<i8", &format!("({},)", rows + 1), offsets)));
        members.push(("indices", ids(&|edge| if format == "csc" { edge.0 } else { edge.1 })));
    } else {
        members.push(("row", ids(&|edge| edge.0)));
        members.push(("col", ids(&|edge| edge.1)));
    }
    zip(&members)
}

fn array(kind: &str, shape: &str, data: Vec<u8>) -> Vec<u8> {
    let head = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((head.len() as u16).to_le_bytes());
    bytes.extend(head.into_bytes());
    bytes.extend(data);
    bytes
}

/// Returns an archive of stored members (APPNOTE.TXT of PKWARE, 4.3).
fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let mut crc = flate2::Crc::new();
        crc.update(data);
        let name = format!("{name}.npy");
        let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for word in [crc.sum(), data.len() as u32, data.len() as u32] {
            about.extend(word.to_le_bytes());
        }
        about.extend((name.len() as u16).to_le_bytes());
        about.extend([0, 0]);
        directory.extend([b"PK\x01\x02\x14\x00".as_slice(), &about, &[0; 10]].concat());
        directory.extend((out.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        out.extend([b"PK\x03\x04".as_slice(), &about, name.as_bytes(), data].concat());
    }
    let (at, count) = (out.len() as u32, members.len() as u16);
    let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
    end.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    end.extend([(directory.len() as u32).to_le_bytes(), at.to_le_bytes()].concat());
    end.extend([0, 0]);
    [out, directory, end].concat()
}

/// Returns the edges of a file that the crate has written, and the type that its header names.
pub fn parsed(path: &Path) -> (Vec<Edge>, String) {
    let name = path.file_name().expect("a name").to_str().expect("text").to_owned();
    let stored = std::fs::read(path).expect("readable");
    let mut bytes = Vec::new();
    let plain = if let Some(plain) = name.strip_suffix(".gz") {
        flate2::read::MultiGzDecoder::new(stored.as_slice()).read_to_end(&mut bytes).expect("gzip");
        plain
    } else if let Some(plain) = name.strip_suffix(".zst") {
        bytes = zstd::decode_all(stored.as_slice()).expect("zstd");
        plain
    } else {
        bytes = stored;
        &name
    };
    if plain.ends_with(".graph500") {
        let weights = std::fs::read(path.with_file_name(format!("{plain}.weights"))).expect("weights");
        let (edges, rest) = bytes.as_chunks::<12>();
        assert!(rest.is_empty() && weights.len() == 4 * edges.len());
        let edge = |(edge, weight): (&[u8; 12], &[u8; 4])| {
            let [u, v, high] = [0, 4, 8].map(|at| u32::from_le_bytes(*edge[at..].first_chunk().expect("a word")));
            let id = |low: u32, high: u32| u64::from(low) | u64::from(high & 0xffff) << 32;
            (id(u, high), id(v, high >> 16), f64::from(f32::from_le_bytes(*weight)))
        };
        return (edges.iter().zip(weights.as_chunks::<4>().0).map(edge).collect(), "f32".into());
    }
    let text = String::from_utf8(bytes).expect("text");
    let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().expect(line)).collect::<Vec<f64>>();
    let ids = |line: &str, first: u64| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [u, v, weight] = words[..] else { panic!("{line}") };
        (u.parse::<u64>().expect(line) - first, v.parse::<u64>().expect(line) - first, weight.parse().expect(line))
    };
    let mut lines = text.lines();
    match plain.rsplit('.').next() {
        Some("txt" | "wel") => (lines.map(|line| ids(line, 0)).collect(), String::new()),
        Some("mtx") => {
            let banner = lines.next().expect("a banner").split(' ').nth(3).expect("a field").to_owned();
            let sizes = numbers(lines.next().expect("sizes"));
            let edges: Vec<Edge> = lines.map(|line| ids(line, 1)).collect();
            assert_eq!(sizes[2], edges.len() as f64);
            (edges, banner)
        }
        Some("gr") => {
            let head = lines.next().expect("a header").to_owned();
            let edges: Vec<Edge> = lines.map(|line| ids(line.strip_prefix("a ").expect(line), 1)).collect();
            assert!(head.starts_with("p sp ") && head.ends_with(&format!(" {}", edges.len())), "{head}");
            (edges, String::new())
        }
        Some("graph") => {
            let head = lines.next().expect("a header").to_owned();
            let mut edges = Vec::new();
            for (row, line) in lines.enumerate() {
                let pairs = numbers(line);
                assert!(pairs.len().is_multiple_of(2), "{line}");
                edges.extend(pairs.chunks(2).map(|pair| (row as u64, pair[0] as u64 - 1, pair[1])));
            }
            assert!(head.ends_with(&format!(" {} 001", edges.len() / 2)), "{head}");
            (edges, String::new())
        }
        _ => panic!("no parser of {name}"),
    }
}
