//! METIS graphs (METIS 5 manual, section 4.1.1): a header `n m [fmt [ncon]]`, then a line of neighbours for each vertex.

use super::number::{id, may_be_number};
use super::{Reading, lines, trim, words};

pub fn read(bytes: &[u8]) -> Option<Reading> {
    let mut open = false;
    let lines = lines(bytes, b' ', &mut open);
    let mut lines = lines.iter().map(|line| trim(line)).filter(|line| line.first() != Some(&b'%'));
    let header = loop {
        match words(lines.next()?) {
            empty if empty.is_empty() => open = true,
            header => break header,
        }
    };
    if !(2..=4).contains(&header.len()) {
        return None;
    }
    let (ids, links) = (id(header[0])?.take(&mut open), id(header[1])?.take(&mut open));
    let flags = match header.get(2) {
        Some(flags) if flags.len() <= 3 && flags.iter().all(|flag| matches!(flag, b'0' | b'1')) => {
            let mut all = vec![b'0'; 3 - flags.len()];
            all.extend_from_slice(flags);
            [all[0], all[1], all[2]].map(|flag| flag == b'1')
        }
        Some(_) => return None,
        None => [false; 3],
    };
    let constraints = match header.get(3) {
        Some(count) => id(count)?.take(&mut open),
        None => 1,
    };
    // A count of weights without the flag for weights.
    open |= header.len() == 4 && !flags[1];
    let [sizes, weights, lengths] = flags;
    let constraints = if weights { constraints } else { 0 };
    let lines: Vec<Vec<&[u8]>> = lines.map(words).collect();

    let as_said = rows(&lines, ids, links, u64::from(sizes).checked_add(constraints)?, lengths, open);
    if as_said.is_some() || !sizes {
        return as_said;
    }
    // GAP's benchmark suite says there are sizes (100) where there are none.
    rows(&lines, ids, links, constraints, lengths, true)
}

/// Reads `lines` of so many vertices, with `before` numbers before the neighbours and weights behind each if `lengths`.
fn rows(lines: &[Vec<&[u8]>], ids: u64, links: u64, before: u64, lengths: bool, mut open: bool) -> Option<Reading> {
    let mut edges = Vec::new();
    for (vertex, words) in lines.iter().enumerate() {
        let vertex = vertex as u64;
        if vertex >= ids {
            if words.is_empty() {
                continue;
            }
            return None;
        }
        if (words.len() as u64) < before {
            return None;
        }
        let (head, neighbours) = words.split_at(before as usize);
        for weight in head {
            open |= id(weight).is_none();
            if !may_be_number(weight) {
                return None;
            }
        }
        for link in neighbours.chunks(if lengths { 2 } else { 1 }) {
            let end = id(link[0])?.take(&mut open);
            if end == 0 || end > ids {
                return None;
            }
            if lengths {
                // Weights of links are positive whole numbers.
                let weight = link.get(1)?;
                open |= !matches!(id(weight), Some(super::number::Id::Plain(1..)));
                if !may_be_number(weight) {
                    return None;
                }
            }
            edges.push([vertex, end - 1]);
        }
    }
    // What stands behind the last line end counts as a line, too: a last vertex without neighbours may have it or not.
    if (lines.len() as u64) < ids {
        return None;
    }
    open |= lines.len() as u64 == ids && lines.last().is_some_and(Vec::is_empty);
    let mut sorted = edges.clone();
    sorted.sort_unstable();
    let both_ways = sorted.iter().all(|&[u, v]| u != v && sorted.binary_search(&[v, u]).is_ok());
    let simple = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    let loops = sorted.iter().filter(|[u, v]| u == v).count() as u64;
    // Every link stands at both its ends; some writers say how often it stands, or have it at one end, or a loop once.
    let entries = edges.len() as u64;
    open |= !(both_ways && simple && entries == 2 * links.min(1 << 60));
    let fits = [Some(entries), entries.checked_add(loops), entries.checked_sub(loops)];
    // An edge that stands at one end alone must be refused where others stand at both.
    let mut mirrored: Vec<_> = sorted.iter().map(|&[u, v]| [v, u]).collect();
    mirrored.sort_unstable();
    if entries != links && mirrored != sorted {
        return None;
    }
    let known = fits.iter().flatten().any(|entries| *entries == links || Some(*entries) == links.checked_mul(2));
    known.then_some(Reading { edges, vertices: Some(ids), open })
}
