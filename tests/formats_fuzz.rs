//! Whatever the bytes are, a scan neither panics nor depends on chunks, threads or packing.

#[path = "support/gather.rs"]
mod gather;

use gather::Gather;
use std::path::Path;

use gpugraph::error::Result;
use gpugraph::formats::{Format, Input, Unwatched};
use proptest::prelude::*;

/// The edges, sorted, or the message without the name of the file.
fn outcome(path: &Path, format: Format, chunk: usize, threads: usize) -> Result<(Vec<[u64; 2]>, Option<u64>), String> {
    let input = Input::open(&[path.to_owned()], Some(format)).unwrap().with_chunk(chunk);
    input.estimate_edges().unwrap();
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
    match input.scan(&mut visitors, &Unwatched) {
        Ok(scan) => {
            let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.0).collect();
            edges.sort_unstable();
            assert_eq!(scan.edges, edges.len() as u64);
            Ok((edges, scan.declared_vertices))
        }
        Err(error) => {
            assert_eq!(error.exit_code(), 3, "{error}");
            let message = error.to_string();
            assert!(!message.contains('\n'));
            Err(message.strip_prefix(path.to_str().unwrap()).expect("the file is named").to_owned())
        }
    }
}

fn check(format: Format, contents: &[u8]) -> std::result::Result<(), TestCaseError> {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("a"), folder.path().join("a.zst"));
    std::fs::write(&plain, contents).unwrap();
    let want = outcome(&plain, format, 8 << 20, 1);
    for (chunk, threads) in [(1, 2), (3, 1), (7, 3), (64, 2)] {
        prop_assert_eq!(&outcome(&plain, format, chunk, threads), &want, "chunk {}", chunk);
    }
    std::fs::write(&packed, zstd::encode_all(contents, 1).unwrap()).unwrap();
    for (chunk, threads) in [(1, 1), (5, 2), (1 << 20, 3)] {
        let found = outcome(&packed, format, chunk, threads);
        match (&found, &want) {
            // an odd length is seen first in a plain file, last in a packed one; and the empty file is said otherwise
            (Err(_), Err(_)) if format.record().is_some() || contents.is_empty() => {}
            _ => prop_assert_eq!(&found, &want, "packed, chunk {}", chunk),
        }
    }
    Ok(())
}

/// Lines that are often right: numbers of `ids`, and now and then something else.
fn lines(ids: u64, columns: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let word = prop_oneof![
        30 => (1..=ids).prop_map(|id| id.to_string()),
        1 => "[-0-9.ae#%]{0,3}",
        1 => Just("0".to_owned()),
        1 => (ids..).prop_map(|id| id.to_string()),
    ];
    let gap = prop_oneof![20 => Just(" "), 2 => Just("\t"), 1 => Just(","), 1 => Just("  ")];
    let line = proptest::collection::vec((word, gap), columns)
        .prop_map(|words| words.into_iter().map(|(word, gap)| word + gap).collect::<String>());
    let end = prop_oneof![10 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just("\n% c\n")];
    proptest::collection::vec((line, end), 0..12)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes(format in proptest::sample::select(&Format::ALL[..]), contents in proptest::collection::vec(any::<u8>(), 0..120)) {
        check(format, &contents)?;
    }

    #[test]
    fn any_characters(format in proptest::sample::select(&Format::ALL[..]), contents in "[0-9apcsx \t\r\n,;#%.-]{0,80}") {
        check(format, contents.as_bytes())?;
    }

    #[test]
    fn text(body in lines(9, 2..4)) {
        check(Format::Text, body.as_bytes())?;
    }

    #[test]
    fn mtx(body in lines(9, 2..3), field in "pattern|real", claim in 0u64..12) {
        let header = format!("%%MatrixMarket matrix coordinate {field} general\n%\n9 9 {claim}\n");
        check(Format::Mtx, (header + &body).as_bytes())?;
    }

    #[test]
    fn gr(body in lines(9, 3..4), claim in 0u64..12) {
        let body: String = body.lines().map(|line| format!("a {line}\n")).collect();
        check(Format::Gr, format!("p sp 9 {claim}\n{body}").as_bytes())?;
    }

    #[test]
    fn metis(body in lines(9, 0..5), vertices in 0u64..9, edges in 0u64..9, kind in "0|1|10|11|100|101|111") {
        check(Format::Metis, format!("{vertices} {edges} {kind}\n{body}").as_bytes())?;
    }
}
