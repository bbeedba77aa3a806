//! Mutated lines of ids that are strings, seeded. A second reader says which edges they have, a sorted set numbers the
//! strings, and the library must come to the same by any chunks, threads and limit of memory, or refuse the file.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{FileSearch, FindNames, IdKind, Input, TextOptions, Unwatched};
use gpugraph::internals::memory::{Budget, limit_leaving};
use gpugraph::internals::prepare::names::Names;

use crate::corpus::one;
use crate::gather::Gather;
use crate::reader::Edge;
use crate::support::{Dice, Place};
use crate::{setting, watch};

/// An id as it is written.
fn word(dice: &mut Dice) -> Vec<u8> {
    let letters: [&[u8]; 8] = [b"k", b"kk", b"0", b"-", b"_", b"/", "\u{e9}".as_bytes(), b"9k"];
    let count = match dice.below(40) {
        0 => 200 + dice.below(400),
        1..8 => 14 + dice.below(8),
        _ => 1 + dice.below(12),
    };
    // Many begin alike.
    let mut word = one(dice, &["", "", "", "kkkkkkkk", "https://kk.k/k/"]).as_bytes().to_vec();
    (0..count).for_each(|_| word.extend(one(dice, &letters)));
    match dice.below(12) {
        0 => word.extend(b"  ,k"),
        1 => word = [b"\"", &word[..], b"\""].concat(),
        2 => word = [b"\"", &word[..], b"\t\"\"k \""].concat(),
        _ => {}
    }
    word
}

/// Lines of two words. `large` files are spilled where memory is scarce.
fn lines(dice: &mut Dice, large: bool) -> Vec<u8> {
    let words: Vec<Vec<u8>> = (0..if large { 40_000 } else { 1 + dice.below(60) }).map(|_| word(dice)).collect();
    let (mut text, end) = (Vec::new(), one(dice, &["\n", "\n", "\r\n"]));
    for _ in 0..if large { 60_000 } else { 1 + dice.below(80) } {
        let [u, v] = [(); 2].map(|()| &words[dice.below(words.len() as u64) as usize]);
        text.extend([u, &b"\t"[..], v, end.as_bytes()].concat());
    }
    text
}

fn mutate(text: &mut Vec<u8>, dice: &mut Dice) {
    let at = dice.below(text.len() as u64 + 1) as usize;
    let bytes = one(dice, &["\t", "\n", "\"", " ", "#", "\r", "\0", "\n\n", "\n# k\n", "\t\t", "\n  %\n", ",", "k\t"]);
    match dice.below(3) {
        0 if at < text.len() => drop(text.remove(at)),
        1 if at < text.len() => drop(text.splice(at..at + 1, bytes.bytes())),
        _ => drop(text.splice(at..at, bytes.bytes())),
    }
}

/// The second reader. Returns the ids of each line; `None` if the file is to be refused.
fn read(text: &[u8]) -> Option<Vec<[Vec<u8>; 2]>> {
    let (mut edges, mut columns) = (Vec::new(), None);
    for line in text.split(|c| *c == b'\n') {
        let line = &line[..line.len() - line.iter().rev().take_while(|c| **c == b'\r').count()];
        if line.contains(&b'\r') {
            return None;
        }
        if matches!(line.trim_ascii_start().first(), None | Some(b'#' | b'%')) {
            continue;
        }
        let mut fields = fields(line)?;
        // A delimiter behind the last column is none.
        if fields.last().is_some_and(Vec::is_empty) && fields.len() == columns.unwrap_or(fields.len() - 1) + 1 {
            fields.pop();
        }
        if fields.len() < 2 || fields.len() != *columns.get_or_insert(fields.len()) {
            return None;
        }
        let edge = [fields[0].clone(), fields[1].clone()];
        if edge.iter().any(Vec::is_empty) {
            return None;
        }
        edges.push(edge);
    }
    Some(edges)
}

/// Splits a line by tabs.
fn fields(mut line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let blanks = |text: &[u8]| text.iter().take_while(|c| **c == b' ').count();
    let mut fields = Vec::new();
    loop {
        line = &line[blanks(line)..];
        let mut field = Vec::new();
        if line.first() == Some(&b'"') {
            line = &line[1..];
            loop {
                let end = line.iter().position(|c| *c == b'"')?;
                field.extend(&line[..end]);
                line = &line[end + 1..];
                if line.first() != Some(&b'"') {
                    break;
                }
                field.push(b'"');
                line = &line[1..];
            }
            line = &line[blanks(line)..];
        } else {
            let end = line.iter().position(|c| *c == b'\t').unwrap_or(line.len());
            let text = &line[..end];
            field.extend(&text[..text.len() - text.iter().rev().take_while(|c| **c == b' ').count()]);
            line = &line[end..];
        }
        fields.push(field);
        match line.first() {
            None => return Some(fields),
            Some(b'\t') => line = &line[1..],
            Some(_) => return None,
        }
    }
}

/// A file as the library numbers it: the strings in order, the edges, and the bytes of both files.
type Numbered = (Vec<u8>, Vec<Edge>, [Vec<u8>; 2]);

fn number(path: &Path, folder: &Path, chunk: usize, (threads, more): (usize, u64)) -> Result<Numbered> {
    let options = TextOptions { ids: IdKind::String, ..TextOptions::default() };
    let input = Input::find(&[path.to_owned()], None, FileSearch::default())?.with_text(options)?.with_chunk(chunk);
    let least = input.scratch_bytes(threads) + Names::least_bytes(threads) * 3 / 2 + more;
    let budget = Budget::new(limit_leaving(least, threads), threads)?;
    Names::build(&input, folder, 7, threads, &budget, &Unwatched).map(drop)?;
    let names = Names::open(folder, 7, input.name())?;
    names.check()?;
    let text = names.list().lines().text().to_vec();
    let names: Arc<dyn FindNames> = Arc::new(names);
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather::default()).collect();
    input.with_numbering(names).scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<Edge> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
    edges.sort_unstable();
    let files = ["names", "names-table"].map(|name| std::fs::read(folder.join(name)).expect("a file"));
    Ok((text, edges, files))
}

fn check(number_of_case: u64, place: &Place) -> std::result::Result<bool, String> {
    let mut dice = Dice(number_of_case << 20 | 1);
    let large = dice.below(100) == 0;
    let mut text = lines(&mut dice, large);
    (0..[0, 0, 1, 1, 2, 4][dice.below(6) as usize]).for_each(|_| mutate(&mut text, &mut dice));
    let path = place.path("strings.tsv");
    std::fs::write(&path, &text).map_err(|error| error.to_string())?;
    let chunk = if large { 1 << 16 } else { one(&mut dice, &[1, 7, 64, 4096]) };
    let [one_way, other_way] = [(1, 64 << 20), (1 + dice.below(4) as usize, dice.below(2 << 20))];
    let by = |chunk, way| number(&path, &place.path(""), chunk, way);
    let shown = || text[..text.len().min(3000)].escape_ascii().to_string();
    let found = by(chunk, one_way);
    let Some(wanted) = read(&text) else {
        return match found {
            Err(error) if error.exit_code() == 3 => Ok(false),
            other => Err(format!("{other:?} of a file to refuse: {}", shown())),
        };
    };
    let found = found.map_err(|error| format!("{error}: {}", shown()))?;
    let sorted: BTreeSet<&[u8]> = wanted.iter().flatten().map(Vec::as_slice).collect();
    let list = sorted.iter().flat_map(|name| [name, &b"\n"[..]].concat()).collect::<Vec<u8>>();
    let sorted: Vec<&[u8]> = sorted.into_iter().collect();
    let place_of = |name: &Vec<u8>| sorted.binary_search(&name.as_slice()).expect("it is there") as u64;
    let mut edges: Vec<Edge> = wanted.iter().map(|edge| edge.each_ref().map(place_of)).collect();
    edges.sort_unstable();
    if found.0 != list || found.1 != edges {
        return Err(format!("other strings or edges: {}", shown()));
    }
    let again = by(chunk, other_way).map_err(|error| format!("{error} with {other_way:?}: {}", shown()))?;
    if again != found {
        return Err(format!("other files with {other_way:?}: {}", shown()));
    }
    let whole = by(8 << 20, other_way).map_err(|error| format!("{error} as a whole: {}", shown()))?;
    if (&whole.0, &whole.1) != (&found.0, &found.1) {
        return Err(format!("other edges as a whole: {}", shown()));
    }
    Ok(true)
}

#[test]
fn mutated_lines_of_strings_are_numbered_as_meant_or_refused() {
    let cases = setting("GPUGRAPH_FUZZ_CASES").unwrap_or(600);
    let from = setting("GPUGRAPH_FUZZ_FROM").unwrap_or(0);
    let (place, watch) = (Place::new(), watch::Watch::start());
    let (mut read, mut wrong) = (0, Vec::new());
    for number in from..from + cases {
        match watch.case(number, || check(number, &place)) {
            Ok(is_read) => read += u64::from(is_read),
            Err(what) => wrong.push(format!("case {number}: {what}")),
        }
    }
    println!("{cases} files of strings: {read} read");
    assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    assert!(read * 3 > cases && read < cases, "{read} read of {cases}");
}
