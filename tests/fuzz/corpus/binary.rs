//! Arrays of numpy and serialized graphs of the GAP benchmark suite.

use super::{ANY, File, SMALL, edges, one};
use crate::reader::Edge;
use crate::support::Dice;

pub fn npy(dice: &mut Dice) -> File {
    let edges = edges(dice, &ANY);
    let largest = edges.iter().flatten().copied().max().unwrap_or(0);
    let kinds = [
        ("|i1", 1u32),
        ("|u1", 1),
        ("<i2", 2),
        ("<u2", 2),
        ("<i4", 4),
        (">i4", 4),
        ("<u4", 4),
        ("<i8", 8),
        (">i8", 8),
        ("<u8", 8),
    ];
    let fits: Vec<(&str, u32)> = kinds
        .into_iter()
        .filter(|(kind, width)| u128::from(largest) < 1 << (8 * width - u32::from(kind.contains('i'))))
        .collect();
    let (kind, width) = one(dice, &fits);
    let flat: Vec<u64> = edges.iter().flatten().copied().collect();
    let across: Vec<u64> = [0, 1].iter().flat_map(|end| edges.iter().map(|edge| edge[*end])).collect();
    let count = edges.len();
    let (shape, order, values) = one(
        dice,
        &[
            (format!("({count}, 2)"), "False", &flat),
            (format!("(2, {count})"), "False", &across),
            (format!("({count}, 2)"), "True", &across),
            (format!("(2, {count})"), "True", &flat),
        ]
        .each_ref(),
    )
    .clone();
    File { name: "a.npy".to_owned(), bytes: array(kind, order, &shape, &numbers(values, kind, width)) }
}

/// An archive of a matrix or of an edge index, its members stored or deflated.
pub fn npz(dice: &mut Dice) -> File {
    let edges = edges(dice, &SMALL);
    let ids = edges.iter().flatten().max().map_or(0, |id| id + 1) + dice.below(2);
    let (kind, width) = one(dice, &[("<i4", 4), ("<i8", 8)]);
    let line = |values: &[u64]| array(kind, "False", &format!("({},)", values.len()), &numbers(values, kind, width));
    let ends = |end: usize, edges: &[Edge]| edges.iter().map(|edge| edge[end]).collect::<Vec<u64>>();
    let weights = array("<f8", "False", &format!("({},)", edges.len()), &1f64.to_le_bytes().repeat(edges.len()));
    let shape = array("<i8", "False", "(2,)", &numbers(&[ids, ids], "<i8", 8));
    let format = |name: &str| array("|S3", "False", "()", name.as_bytes());
    let members = match dice.below(3) {
        0 => {
            let across = [ends(0, &edges), ends(1, &edges)].concat();
            let shape = format!("(2, {})", edges.len());
            vec![("edge_index.npy", array(kind, "False", &shape, &numbers(&across, kind, width)))]
        }
        1 => vec![
            ("row.npy", line(&ends(0, &edges))),
            ("col.npy", line(&ends(1, &edges))),
            ("format.npy", format("coo")),
            ("shape.npy", shape),
            ("data.npy", weights),
        ],
        _ => {
            let mut sorted = edges.clone();
            sorted.sort_unstable();
            let starts: Vec<u64> =
                (0..=ids).map(|row| sorted.iter().filter(|edge| edge[0] < row).count() as u64).collect();
            vec![
                ("indices.npy", line(&ends(1, &sorted))),
                ("indptr.npy", line(&starts)),
                ("format.npy", format("csr")),
                ("shape.npy", shape),
                ("data.npy", weights),
            ]
        }
    };
    File { name: "a.npz".to_owned(), bytes: zip(&members, dice.below(2) == 0) }
}

pub fn gapbs(dice: &mut Dice) -> File {
    let mut edges = edges(dice, &SMALL);
    let (weighted, directed) = (dice.below(2) == 0, dice.below(2) == 0);
    if !directed {
        edges.extend(edges.clone().iter().map(|[u, v]| [*v, *u]));
    }
    let ids = edges.iter().flatten().max().map_or(0, |id| id + 1) + dice.below(2);
    let mut bytes = vec![u8::from(directed)];
    bytes.extend((edges.len() as u64).to_le_bytes());
    bytes.extend(ids.to_le_bytes());
    for swapped in [false, true].into_iter().take(1 + usize::from(directed)) {
        let mut sorted: Vec<Edge> = edges.iter().map(|[u, v]| if swapped { [*v, *u] } else { [*u, *v] }).collect();
        sorted.sort_unstable();
        for row in 0..=ids {
            bytes.extend((sorted.iter().filter(|edge| edge[0] < row).count() as u64).to_le_bytes());
        }
        for [_, end] in sorted {
            bytes.extend((end as u32).to_le_bytes());
            bytes.extend(&7u32.to_le_bytes()[..if weighted { 4 } else { 0 }]);
        }
    }
    File { name: if weighted { "a.wsg" } else { "a.sg" }.to_owned(), bytes }
}

/// Values as numpy's type `kind` of `width` bytes.
pub fn numbers(values: &[u64], kind: &str, width: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        let mut word = value.to_le_bytes()[..width as usize].to_vec();
        if kind.starts_with('>') {
            word.reverse();
        }
        bytes.extend(word);
    }
    bytes
}

/// A file of numpy's, version 1.
pub fn array(kind: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': {shape}, }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

/// A zip archive as numpy writes it.
pub fn zip(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in members {
        let mut sum = flate2::Crc::new();
        sum.update(data);
        let packed = if deflated {
            let packer = flate2::read::DeflateEncoder::new(&data[..], flate2::Compression::fast());
            std::io::Read::bytes(packer).collect::<Result<Vec<u8>, _>>().expect("packed")
        } else {
            data.clone()
        };
        let mut about = vec![20, 0, 0, 0, if deflated { 8 } else { 0 }, 0, 0, 0, 0x21, 0];
        for number in [sum.sum(), packed.len() as u32, data.len() as u32, name.len() as u32] {
            about.extend(number.to_le_bytes());
        }
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&about);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(about);
        bytes.extend(name.as_bytes());
        bytes.extend(packed);
    }
    let (start, size, count) = (bytes.len() as u32, directory.len() as u32, members.len() as u16);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend([size.to_le_bytes(), start.to_le_bytes()].concat());
    bytes.extend([0; 2]);
    bytes
}
