//! What is read, and what is refused with a sentence.

use crate::gather::Gather;
use gpugraph::internals::error::Result;
use gpugraph::internals::formats::{CacheUse, Columns, FileSearch, Format, Input, Share, TextOptions, Unwatched};
use std::path::{Path, PathBuf};

pub fn own(name: &str) -> PathBuf {
    crate::own("parquet").join(format!("{name}.parquet"))
}

pub fn scan(input: &Input, threads: usize) -> Result<(Vec<[u64; 2]>, u64)> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather(vec![])).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Vec<_> = visitors.into_iter().flat_map(|v| v.0).collect();
    edges.sort_unstable();
    assert_eq!(scan.edges, edges.len() as u64);
    Ok((edges, scan.checksum))
}

pub fn open(path: &Path) -> Result<Input> {
    Input::find(&[path.to_owned()], None, FileSearch::default())
}

/// The club's edges as `karate.txt` has them, which is another producer's file.
pub fn karate() -> Vec<[u64; 2]> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/karate.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(['#', '%']));
    let ids = lines.map(|line| line.split_whitespace().map(|id| id.parse::<u64>().unwrap()).collect::<Vec<_>>());
    let mut edges: Vec<_> = ids.map(|ids| [ids[0].min(ids[1]), ids[0].max(ids[1])]).collect();
    let least = *edges.iter().flatten().min().unwrap();
    edges.iter_mut().flatten().for_each(|id| *id -= least);
    edges.sort_unstable();
    assert_eq!(edges.len(), 78);
    edges
}

/// The files that are read without options as the club, by name.
pub fn clubs() -> Vec<String> {
    let others = ["pandas-numbers", "many-columns", "empty"];
    let folder = std::fs::read_dir(own("x").parent().unwrap()).unwrap();
    let names = folder.map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<_> =
        names.filter(|name| !name.starts_with("bad-") && !others.contains(&name.as_str())).collect();
    names.sort();
    assert!(names.len() > 40, "{names:?}");
    names
}

#[test]
fn every_codec_encoding_and_type_is_the_graph_that_was_saved() {
    let want = karate();
    for name in clubs() {
        let input = open(&own(&name)).unwrap();
        assert_eq!(input.estimate_edges().unwrap(), 78, "{name}");
        let (edges, checksum) = scan(&input, 1).unwrap();
        assert_eq!(edges, want, "{name}");
        for threads in [2, 5] {
            assert_eq!(scan(&input, threads).unwrap(), (edges.clone(), checksum), "{name} by {threads}");
        }
        for chunk in [1, 100, 1000] {
            assert_eq!(scan(&input.clone().with_chunk(chunk), 3).unwrap().0, want, "{name} in chunks of {chunk}");
        }
    }
}

#[test]
fn a_table_without_rows_is_a_graph_without_edges() {
    let input = open(&own("empty")).unwrap();
    assert_eq!((input.estimate_edges().unwrap(), scan(&input, 2).unwrap().0), (0, vec![]));
}

#[test]
fn ids_of_32_bits_are_known_as_such() {
    for (name, wide) in [("type-int32", false), ("type-uint8", false), ("type-int64", true), ("mixed", true)] {
        assert_eq!(open(&own(name)).unwrap().wide(), wide, "{name}");
    }
}

#[test]
fn ranks_share_row_groups_and_every_edge_comes_to_one() {
    for name in ["dictionary-zstd", "plain-v2-required", "one-group", "empty-groups"] {
        for chunk in [64, 8 << 20] {
            let input = open(&own(name)).unwrap().with_chunk(chunk);
            let mut edges = Vec::new();
            for rank in 0..3 {
                let mut visitors = [Gather(vec![]), Gather(vec![])];
                input.scan_share(Share::of(rank, 3), CacheUse::Nothing, &mut visitors, &Unwatched).unwrap();
                edges.extend(visitors.into_iter().flat_map(|v| v.0));
            }
            edges.sort_unstable();
            assert_eq!(edges, karate(), "{name} in chunks of {chunk}");
        }
    }
}

#[test]
fn a_folder_of_part_files_is_one_input_and_files_beside_them_are_none_of_it() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("codec-snappy", "part-0.parquet"), ("delta-v2-optional", "part-1.parquet")] {
        std::fs::copy(own(from), folder.path().join(to)).unwrap();
    }
    std::fs::write(folder.path().join("_SUCCESS"), "").unwrap();
    std::fs::write(folder.path().join("_metadata"), "PAR1").unwrap();
    let twice: Vec<_> = karate().into_iter().flat_map(|edge| [edge, edge]).collect();
    for path in [folder.path().to_owned(), folder.path().join("*.parquet")] {
        let input = open(&path).unwrap();
        assert_eq!((input.estimate_edges().unwrap(), scan(&input, 3).unwrap().0), (156, twice.clone()));
    }
}

fn with(name: &str, columns: Columns) -> Result<Input> {
    open(&own(name))?.with_text(TextOptions { columns, skip_lines: None, ..TextOptions::default() })
}

#[test]
fn columns_are_chosen_by_name_and_by_number() {
    let names = |names: &[&str]| Columns::names(names.iter().map(|&name| name.to_owned()).collect()).unwrap();
    let numbers = |numbers: &[u64]| Columns::numbers(numbers.to_vec()).unwrap();
    for (name, columns) in [
        ("many-columns", names(&["a", "b"])),
        ("many-columns", numbers(&[3, 4])),
        ("pandas-numbers", names(&["0", "1"])),
        ("pandas-numbers", numbers(&[1, 2])),
        ("weighted", numbers(&[2, 3, 1])),
        ("weighted", names(&["Source", "TARGET", "weight"])),
    ] {
        let input = with(name, columns.clone()).unwrap();
        assert_eq!(scan(&input, 2).unwrap().0, karate(), "{name}: {columns}");
    }
    let turned: Vec<_> = {
        let mut edges: Vec<_> = karate().into_iter().map(|[u, v]| [v, u]).collect();
        edges.sort_unstable();
        edges
    };
    assert_eq!(scan(&with("pandas", names(&["target", "source"])).unwrap(), 2).unwrap().0, turned);
    // The same bytes read otherwise are another input.
    let reading = |columns| with("pandas", columns).unwrap().parts()[0].reading();
    assert_ne!(reading(numbers(&[1, 2])), reading(numbers(&[2, 1])));
    for (name, columns, found) in [
        (
            "many-columns",
            Columns::Auto,
            "when (INT64 TIMESTAMP), who (BYTE_ARRAY STRING), a (INT64), b (INT64), list (nested)",
        ),
        ("many-columns", Columns::Auto, "columns = [\"a\", \"b\"]"),
        ("many-columns", numbers(&[3, 6]), "[3, 6]"),
        ("many-columns", numbers(&[3, 4, 9]), "[3, 4, 9]"),
        ("many-columns", names(&["a", "c"]), "[\"a\", \"c\"]"),
        ("many-columns", names(&["a", "list"]), "list of type nested"),
        ("many-columns", names(&["when", "a"]), "when of type INT64 TIMESTAMP"),
        ("pandas-numbers", Columns::Auto, "columns = [\"0\", \"1\"]"),
        ("bad-names", Columns::Auto, "follower id (INT64), b (INT64), c (BYTE_ARRAY STRING)"),
        ("bad-one", Columns::Auto, "the columns source (INT64)"),
    ] {
        let input = with(name, columns).unwrap();
        for error in [scan(&input, 2).map(drop), input.estimate_edges().map(drop)].map(Result::unwrap_err) {
            let text = error.to_string();
            assert_eq!(error.exit_code(), 3, "{text}");
            assert!(text.contains(found) && text.contains("; ") && !text.contains('\n'), "{text}");
        }
    }
    let skip = TextOptions { columns: Columns::Auto, skip_lines: Some(1), ..TextOptions::default() };
    assert_eq!(open(&own("pandas")).unwrap().with_text(skip).unwrap_err().exit_code(), 2);
}

#[test]
fn what_is_no_edge_is_refused_with_file_column_and_row_group() {
    let nulls = "column target of row group 1; drop these rows";
    for (name, found) in [
        ("bad-negative-int64", "found -3 in column target of row group 1"),
        ("bad-negative-int32", "found -3 in column target of row group 1"),
        ("bad-nulls", "found 1 nulls as column target of row group 1"),
        ("bad-nulls-unsaid", nulls),
        ("bad-nulls-unsaid-v2", nulls),
        ("bad-nulls-unsaid-delta", nulls),
        ("bad-nulls-unsaid-dictionary", nulls),
        ("bad-all-null", "column target of row group 0; drop these rows"),
        ("bad-float", "target of type DOUBLE"),
        ("bad-string", "target of type BYTE_ARRAY STRING"),
        ("bad-timestamp", "target of type INT64 TIMESTAMP"),
        ("bad-list", "target of type nested"),
        ("bad-struct", "target of type nested"),
        ("bad-decimal", "target of type INT64 DECIMAL"),
        ("bad-boolean", "target of type BOOLEAN"),
        ("bad-null-type", "target of type INT32 UNKNOWN"),
    ] {
        let path = own(name);
        let error = open(&path).and_then(|input| scan(&input, 2)).unwrap_err();
        let text = error.to_string();
        assert_eq!(error.exit_code(), 3, "{name}: {text}");
        assert!(text.contains(found) && text.contains(&format!("{name}.parquet")), "{name}: {text}");
        assert!(text.contains("; ") && !text.contains('\n'), "{name}: {text}");
    }
}

#[test]
fn a_parquet_file_by_another_name_is_told_and_one_that_is_packed_is_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.txt", "a.bin", "a.mtx"] {
        let path = folder.path().join(name);
        std::fs::copy(own("pandas"), &path).unwrap();
        let text = open(&path).and_then(|input| scan(&input, 1)).unwrap_err().to_string();
        assert!(text.contains("a Parquet file") && text.contains("name the format parquet"), "{text}");
        let named = Input::find(std::slice::from_ref(&path), Some(Format::Parquet), FileSearch::default()).unwrap();
        assert_eq!(scan(&named, 1).unwrap().0, karate());
    }
    let path = folder.path().join("a.parquet.gz");
    std::fs::copy(own("pandas"), &path).unwrap();
    assert!(open(&path).unwrap_err().to_string().contains("unpack it"));
    let path = folder.path().join("a.parquet");
    for (bytes, found) in [
        (&b""[..], "0 bytes"),
        (b"1 2\n3 4\n5 6\n", "found text"),
        (b"\x01\x02\x03........PAR1", "at its start"),
        (b"PAR1....................PAR2", "at its end"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let text = open(&path).and_then(|input| scan(&input, 1)).unwrap_err().to_string();
        assert!(text.contains("arquet") && text.contains(found), "{text}");
    }
}
