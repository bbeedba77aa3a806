//! DIMACS shortest-path graphs (<http://www.diag.uniroma1.it/challenge9/format.shtml>).

use super::number::{id, is_decimal, may_be_number};
use super::{Reading, lines, trim, words};

pub fn read(bytes: &[u8]) -> Option<Reading> {
    let mut open = false;
    let mut size: Option<[u64; 2]> = None;
    let mut edges = Vec::new();
    for line in lines(bytes, b' ', &mut open) {
        let words = words(trim(&line));
        let Some(kind) = words.first() else {
            // Blank lines are in no specification.
            open |= !line.is_empty();
            continue;
        };
        if kind.first() == Some(&b'c') {
            open |= kind.len() > 1 || line.first() != Some(&b'c');
            continue;
        }
        open |= kind.len() != 1;
        match (*kind, size) {
            (b"p", None) => {
                let [_, problem, ids, arcs] = words[..] else { return None };
                open |= problem != b"sp";
                let mut take = |word| Some(id(word)?.take(&mut open));
                size = Some([take(ids)?, take(arcs)?]);
            }
            (b"a", Some([ids, _])) => {
                let [_, tail, head, length] = words[..] else { return None };
                let mut take = |word| Some(id(word)?.take(&mut open)).filter(|end| (1..=ids).contains(end));
                edges.push([take(tail)? - 1, take(head)? - 1]);
                open |= !is_decimal(length);
                if !may_be_number(length) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    let [ids, arcs] = size?;
    (edges.len() as u64 == arcs).then_some(Reading { edges, vertices: Some(ids), open })
}
