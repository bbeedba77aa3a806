//! What happens to files: bits flip, lines go missing, editors, spreadsheets and scripts rewrite them.

#![allow(clippy::ptr_arg)] // all ways to change a file have one type

use crate::corpus::one;
use crate::support::Dice;

/// Changes `bytes` in one way drawn.
pub fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const WAYS: [fn(&mut Vec<u8>, &mut Dice); 18] = [
        flip,
        set,
        delete,
        insert,
        truncate,
        number,
        number,
        header_number,
        separators,
        ends,
        wrap,
        lines,
        lines,
        add_line,
        append,
        quote,
        word,
        binary,
    ];
    WAYS[dice.below(WAYS.len() as u64) as usize](bytes, dice);
    // Doublings may stack.
    bytes.truncate(20_000);
}

/// A place in `bytes`, its end included.
fn place(bytes: &[u8], dice: &mut Dice) -> usize {
    dice.below(bytes.len() as u64 + 1) as usize
}

fn splice(bytes: &mut Vec<u8>, at: std::ops::Range<usize>, with: impl AsRef<[u8]>) {
    bytes.splice(at, with.as_ref().iter().copied());
}

/// Flips a bit, more often of the first 64 bytes.
pub fn flip(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let among = if dice.below(2) == 0 { bytes.len().min(64) } else { bytes.len() };
    if among > 0 {
        bytes[dice.below(among as u64) as usize] ^= 1 << dice.below(8);
    }
}

fn set(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if !bytes.is_empty() {
        let at = dice.below(bytes.len() as u64) as usize;
        bytes[at] = one(dice, &[0, 255, b'\n', b'\r', b' ', b',', b'-', b'#', b'0', b'9', b'.', b'a', 0x80]);
    }
}

pub fn delete(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let start = place(bytes, dice);
    let end = (start + 1 + dice.below(4) as usize).min(bytes.len());
    bytes.drain(start..end);
}

pub fn insert(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let at = place(bytes, dice);
    let added: Vec<u8> = (0..=dice.below(4))
        .map(|_| if dice.below(2) == 0 { dice.roll() as u8 } else { one(dice, b"0129 ,;\t\n\r-+.e#%\"'{}:/\0") })
        .collect();
    splice(bytes, at..at, added);
}

pub fn truncate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    bytes.truncate(place(bytes, dice));
}

/// Runs of digits.
fn numbers(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found: Vec<std::ops::Range<usize>> = Vec::new();
    for at in (0..bytes.len()).filter(|at| bytes[*at].is_ascii_digit()) {
        match found.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => found.push(at..at + 1),
        }
    }
    found
}

/// Writes another number, or the same in another notation, in place of one.
fn number(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let numbers = numbers(bytes);
    if numbers.is_empty() {
        return;
    }
    let at = one(dice, &(0..numbers.len()).collect::<Vec<_>>());
    renumber(bytes, numbers[at].clone(), dice);
}

/// The same to one of the first numbers, which a header may have.
fn header_number(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let numbers = numbers(bytes);
    if !numbers.is_empty() {
        let at = dice.below(numbers.len().min(4) as u64) as usize;
        renumber(bytes, numbers[at].clone(), dice);
    }
}

fn renumber(bytes: &mut Vec<u8>, at: std::ops::Range<usize>, dice: &mut Dice) {
    let old = String::from_utf8(bytes[at.clone()].to_vec()).expect("digits");
    let value: u128 = old.parse().unwrap_or(7);
    let new = match dice.below(12) {
        0 => (value + 1).to_string(),
        1 => value.saturating_sub(1).to_string(),
        2 => format!("000{old}"),
        3 => format!("+{old}"),
        4 => format!("-{old}"),
        5 => format!("{old}.0"),
        6 => format!("{old}e0"),
        7 => format!("{old}.5"),
        8 => format!("{value:#x}"),
        9 => (value + one(dice, &[1u128 << 31, 1 << 32, 1 << 63, 1 << 64])).to_string(),
        _ => one(
            dice,
            &[
                "0",
                "-1",
                "1e3",
                "1.0e2",
                "2147483648",
                "4294967295",
                "4294967296",
                "9223372036854775808",
                "100000000",
                "18446744073709551615",
                "18446744073709551616",
                "99999999999999999999999999",
                "nan",
                "",
                "1_000",
                "1'000",
            ],
        )
        .to_owned(),
    };
    splice(bytes, at, new);
}

/// Changes the separators of one line, or of all.
fn separators(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let with = one(dice, &["\t", ",", ";", "  ", " , ", ", ", "|", ":", "\u{a0}", "\0", "\u{b}", "\r", "\n", " \t "]);
    let all = dice.below(2) == 0;
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let chosen = dice.below(lines.len() as u64) as usize;
    for (number, line) in lines.iter_mut().enumerate() {
        if all || number == chosen {
            let cells: Vec<&[u8]> = line.split(|byte| b" \t,".contains(byte)).collect();
            *line = cells.join(with.as_bytes());
        }
    }
    *bytes = lines.join(&b'\n');
}

/// Changes the end of one line, or of all.
fn ends(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let with =
        one(dice, &["\r\n", "\r\n", "\r", "\n\n", " \n", "\t\n", "\n\r", "\0\n", "\u{2028}", "", "\r\r\n", "\u{c}\n"]);
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if dice.below(2) == 0 {
        *bytes = lines.join(with.as_bytes());
    } else if lines.len() > 1 {
        let cut = 1 + dice.below(lines.len() as u64 - 1) as usize;
        *bytes = [lines[..cut].join(&b'\n'), lines[cut..].join(&b'\n')].join(with.as_bytes());
    }
}

/// Rewrites the whole file as editors and shells do.
fn wrap(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match dice.below(6) {
        0 => splice(bytes, 0..0, "\u{feff}"),
        1 => *bytes = [&[0xff, 0xfe][..], &bytes.iter().flat_map(|byte| [*byte, 0]).collect::<Vec<u8>>()].concat(),
        2 => *bytes = bytes.repeat(2),
        3 => bytes.extend([0; 7]),
        4 => bytes.clear(),
        _ => *bytes = bytes.trim_ascii_end().to_vec(),
    }
}

/// Doubles, removes, swaps or joins lines.
fn lines(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (from, to) = (dice.below(lines.len() as u64) as usize, dice.below(lines.len() as u64) as usize);
    match dice.below(4) {
        0 => lines.insert(to, lines[from].clone()),
        1 => drop(lines.remove(from)),
        2 => lines.swap(from, to),
        _ => {
            let taken = lines.remove(from);
            let last = lines.len().saturating_sub(1);
            if let Some(line) = lines.get_mut(to.min(last)) {
                line.extend_from_slice(&taken);
            }
        }
    }
    *bytes = lines.join(&b'\n');
}

/// Adds a line, more often at the top.
fn add_line(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let count = bytes.iter().filter(|byte| **byte == b'\n').count();
    let line = match dice.below(3) {
        0 => format!("{} {count}", 5 + dice.below(100)),
        1 => one(dice, &["# c", "% c", "// c", "; c", "c c", "-- c", "//", "#", "", " ", "!c", "/* c */", "/"])
            .to_owned(),
        _ => one(
            dice,
            &[
                "source,target",
                "weight,source,target",
                "from to",
                "a,b",
                "id,u,v",
                "Source;Target",
                "\"src\",\"dst\"",
                "5",
                "%%MatrixMarket matrix coordinate pattern general",
                "3 3 2",
                "p sp 3 2",
                "<graphml>",
                "{",
                "u v {}",
                "1 2 {}",
                "1 2 {'weight': 3}",
                "graph [",
                "% sym unweighted",
                "% asym 3 4 4",
                "AdjacencyGraph",
                "1,2,3,4,5",
                "\"1\",\"2\"",
                "1 2 3 4",
                ",0,1",
                "dst,src",
                "from,target",
                "*Vertices 3",
                "0",
                "1 1",
                "18446744073709551615 0",
            ],
        )
        .to_owned(),
    };
    let starts: Vec<usize> = std::iter::once(0)
        .chain(bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
        .collect();
    let at = if dice.below(2) == 0 { 0 } else { one(dice, &starts) };
    splice(bytes, at..at, line + "\n");
}

/// Adds to the end of one line, or of all.
fn append(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let what = one(
        dice,
        &[
            " {}",
            " {'weight': 3}",
            "{}",
            " {",
            " # c",
            " % c",
            ",",
            " ",
            " 1",
            " 1 2",
            ",1.5",
            " x",
            " {'a': '1 2'}",
            "\t7\t8",
            ";",
            " 1082040961",
            " -1",
            " nan",
            " \"x y\"",
            " //",
        ],
    );
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
    if ends.is_empty() {
        return;
    }
    let chosen = one(dice, &ends);
    let all = dice.below(2) == 0;
    for at in ends.into_iter().rev().filter(|at| all || *at == chosen) {
        splice(bytes, at..at, what);
    }
}

/// Puts quotes around one number, or around all.
fn quote(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let numbers = numbers(bytes);
    if numbers.is_empty() {
        return;
    }
    let (chosen, all, mark) =
        (one(dice, &numbers.iter().map(|at| at.start).collect::<Vec<_>>()), dice.below(2) == 0, one(dice, b"\"\"'"));
    for at in numbers.into_iter().rev().filter(|at| all || at.start == chosen) {
        bytes.insert(at.end, mark);
        bytes.insert(at.start, mark);
    }
}

/// Puts a word of some header in place of another, or changes its case.
fn word(bytes: &mut Vec<u8>, dice: &mut Dice) {
    const WORDS: [&str; 26] = [
        "pattern",
        "real",
        "integer",
        "complex",
        "general",
        "symmetric",
        "skew-symmetric",
        "hermitian",
        "coordinate",
        "array",
        "matrix",
        "vector",
        "sp",
        "max",
        "edge",
        "source",
        "target",
        "weight",
        "from",
        "to",
        "src",
        "dst",
        "weight",
        "u",
        "v",
        "'weight'",
    ];
    let mut found = Vec::new();
    let mut start = 0;
    for at in 0..=bytes.len() {
        if at == bytes.len() || !bytes[at].is_ascii_alphabetic() {
            if at > start {
                found.push(start..at);
            }
            start = at + 1;
        }
    }
    if found.is_empty() {
        return;
    }
    let at = found[dice.below(found.len() as u64) as usize].clone();
    match dice.below(4) {
        0 => bytes[at].make_ascii_uppercase(),
        1 => bytes[at.start..=at.start].make_ascii_uppercase(),
        _ => splice(bytes, at, one(dice, &WORDS)),
    }
}

/// Writes a number of 2, 4 or 8 bytes at a multiple of 4, as in headers and records.
fn binary(bytes: &mut Vec<u8>, dice: &mut Dice) {
    if bytes.is_empty() {
        return;
    }
    let at = dice.below(bytes.len() as u64) as usize / 4 * 4;
    let value = one(
        dice,
        &[0u64, 1, 2, u64::MAX, 1 << 31, 1 << 32, 1 << 47, 1 << 62, 1 << 63, 0xffff_ffff, 8, 0x3ff0_0000_0000_0000],
    );
    let size = one(dice, &[2usize, 4, 8]);
    let end = (at + size).min(bytes.len());
    splice(bytes, at..end, &value.to_le_bytes()[..size]);
}
