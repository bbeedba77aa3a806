//! Reads mutated files with their weights: the edges are those read without, and the weights the same however the file is cut.

use std::path::Path;

use gpugraph::internals::error::{Error, Result};
use gpugraph::internals::formats::{Edges, FileSearch, Format, Input, Scan, Unwatched, Visitor, WeightType, Weights};

/// Edges with the bits of their weights, which are 0 where none are handed over.
#[derive(Default)]
struct Weighted(Vec<(u64, u64, u64)>);

impl Visitor for Weighted {
    fn visit(&mut self, edges: Edges<'_>, weights: &[u32]) -> Result<()> {
        let size = weights.len() / edges.len().max(1);
        assert!(size <= 2 && weights.len() == size * edges.len());
        let words = weights.chunks_exact(size.max(1));
        let bits = words.map(|words| words.iter().rev().fold(0, |bits, &word| bits << 32 | u64::from(word)));
        let weights = bits.chain(std::iter::repeat(0));
        match edges {
            Edges::Narrow(pairs) => {
                self.0.extend(pairs.iter().zip(weights).map(|([u, v], w)| (u64::from(*u), u64::from(*v), w)))
            }
            Edges::Wide(pairs) => self.0.extend(pairs.iter().zip(weights).map(|([u, v], w)| (*u, *v, w))),
        }
        Ok(())
    }
}

type Scanned = Result<(Vec<(u64, u64, u64)>, Scan)>;

fn scan(path: &Path, format: Option<Format>, weights: Weights, (chunk, threads): (usize, usize)) -> Scanned {
    let input = Input::find(&[path.to_owned()], format, FileSearch::default())?.with_chunk(chunk).with_weights(weights);
    let mut visitors: Vec<_> = (0..threads).map(|_| Weighted::default()).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|visitor| visitor.0).collect();
    edges.sort_unstable();
    Ok((edges, scan))
}

/// Reads a file whose edges are `edges` without weights, or which is refused then.
///
/// # Errors
/// Says what does not agree.
pub fn check(
    path: &Path,
    format: Option<Format>,
    edges: Option<&[[u64; 2]]>,
    way: (usize, usize),
) -> Result<(), String> {
    let whole = (8 << 20, 1);
    let code = |error: &Error| error.exit_code();
    let bare = |found: &[(u64, u64, u64)]| found.iter().map(|&(u, v, _)| [u, v]).collect::<Vec<_>>();
    let f32 = Weights::Read(WeightType::F32);
    let found = scan(path, format, Weights::Find, whole);
    let again = scan(path, format, Weights::Find, way);
    let Some(edges) = edges else {
        return match (found, again, scan(path, format, f32, way)) {
            (Err(_), Err(_), Err(_)) => Ok(()),
            _ => Err("edges are refused, but not with weights".into()),
        };
    };
    let kinds = [&found, &again].map(|found| found.as_ref().map(|(_, scan)| scan.weights).map_err(code));
    if kinds[0] != kinds[1] {
        return Err(format!("weights are {:?} as a whole, {:?} in pieces", kinds[0], kinds[1]));
    }
    match found {
        Ok((list, _)) if bare(&list) != edges => Err("other edges where weights are looked for".into()),
        Ok((_, Scan { weights: Some(kind), .. })) => {
            let one = scan(path, format, Weights::Read(kind), whole).map_err(|e| format!("found, but: {e}"))?;
            let other = scan(path, format, Weights::Read(kind), way).map_err(|e| format!("found, but: {e}"))?;
            match bare(&one.0) == edges && one.0 == other.0 && one.1.weights == Some(kind) {
                true => Ok(()),
                false => Err(format!("weights are {:?} as a whole, {:?} in pieces", one.0, other.0)),
            }
        }
        Ok(_) => match scan(path, format, f32, way) {
            Ok((list, _)) if list.is_empty() => Ok(()),
            Err(error) if [2, 3].contains(&code(&error)) => Ok(()),
            _ => Err("no weights are found, but read".into()),
        },
        Err(error) if code(&error) != 3 => Err(format!("exit code {}: {error}", code(&error))),
        Err(found) => match scan(path, format, f32, way) {
            Err(error) if code(&error) == 3 => Ok(()),
            // Whole weights from 2^64 on are rounded only where f32 is named.
            Ok(_) if found.to_string().contains("expected whole weights below 2^64") => Ok(()),
            _ => Err("weights are refused, but read".into()),
        },
    }
}
