//! Text as people have it: columns by name and number, quotes, attributes, timestamps, counts above the edges. What is
//! expected is written by hand, or read by a reader of another kind.

use std::path::PathBuf;

use crate::gather::Gather;
use crate::support::{Place, reference_graphs, triangles};
use gpugraph::internals::error::Error;
use gpugraph::internals::formats::{CacheUse, FileSearch, Format, Input, Share, TextOptions, Unwatched};
use proptest::prelude::*;

type Edges = Vec<[u64; 2]>;

fn options(columns: &str, skip_lines: Option<u64>) -> TextOptions {
    TextOptions { columns: columns.parse().unwrap(), skip_lines, ..TextOptions::default() }
}

/// The edges, sorted.
fn scan(input: &Input, threads: usize) -> Result<Edges, Error> {
    let mut visitors: Vec<Gather> = (0..threads).map(|_| Gather::default()).collect();
    let scan = input.scan(&mut visitors, &Unwatched)?;
    let mut edges: Edges = visitors.into_iter().flat_map(|gather| gather.0).collect();
    edges.sort_unstable();
    assert_eq!(scan.edges, edges.len() as u64);
    Ok(edges)
}

/// A file of a folder of its own.
struct Case {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Case {
    fn new(name: &str, contents: impl AsRef<[u8]>) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, contents).unwrap();
        Case { _folder: folder, path }
    }

    fn gzip(&self) -> Case {
        use std::io::Write;
        let contents = std::fs::read(&self.path).unwrap();
        // Two members, cut anywhere.
        let mut packed = Vec::new();
        for half in [&contents[..contents.len() / 2], &contents[contents.len() / 2..]] {
            let mut encoder = flate2::write::GzEncoder::new(&mut packed, flate2::Compression::fast());
            encoder.write_all(half).unwrap();
            encoder.finish().unwrap();
        }
        Case::new(&format!("{}.gz", self.path.file_name().unwrap().to_str().unwrap()), packed)
    }

    fn input(&self, named: Option<Format>, options: &TextOptions) -> Input {
        Input::find(std::slice::from_ref(&self.path), named, FileSearch::default())
            .unwrap()
            .with_text(options.clone())
            .unwrap()
    }

    /// The edges or the message without the folder; the same for any chunks, threads, packing and shares.
    #[track_caller]
    fn read(&self, named: Option<Format>, options: &TextOptions) -> Result<Edges, String> {
        let outcome = |case: &Case, chunk: usize, threads: usize| {
            let input = case.input(named, options).with_chunk(chunk);
            input.estimate_edges().unwrap();
            scan(&input, threads).map_err(|error| {
                assert_eq!(error.exit_code(), 3, "{error}");
                let text = error.to_string();
                assert!(!text.contains('\n') && text.contains("expected") && text.contains("; "), "{text}");
                let name = case.path.to_str().unwrap();
                let behind = text.strip_prefix(name).unwrap_or_else(|| panic!("{name} is not named: {text}"));
                // Of a line that is too long, which part is shown depends on where it was noticed.
                // The remedy unpacks a packed file first.
                match behind.split_once("found a longer one with").or_else(|| behind.split_once("found JSON")) {
                    Some((before, _)) => format!("{before}; "),
                    None => behind.to_owned(),
                }
            })
        };
        let want = outcome(self, 8 << 20, 1);
        let small = std::fs::metadata(&self.path).unwrap().len() < 4096;
        for (chunk, threads) in [(1, 2), (3, 1), (7, 3), (64, 2)].into_iter().filter(|_| small).chain([(100_000, 3)]) {
            assert_eq!(outcome(self, chunk, threads), want, "in chunks of {chunk}");
        }
        let gzip = self.gzip();
        for (chunk, threads) in [(1, 1), (5, 2)].into_iter().filter(|_| small).chain([(1 << 20, 3)]) {
            let packed = outcome(&gzip, chunk, threads);
            assert_eq!(packed, want, "packed, in chunks of {chunk}");
        }
        if let Ok(want) = &want {
            assert_eq!(&self.by_ranks(named, options, 3).unwrap(), want, "by three ranks");
        }
        want
    }

    /// The edges that three ranks find together.
    fn by_ranks(&self, named: Option<Format>, options: &TextOptions, ranks: usize) -> Result<Edges, Error> {
        let chunk = if std::fs::metadata(&self.path).unwrap().len() < 4096 { 50 } else { 5000 };
        let input = self.input(named, options).with_chunk(chunk);
        let (mut edges, mut seen) = (Vec::new(), Vec::new());
        for rank in 0..ranks {
            let mut gather = [Gather::default()];
            seen.push(input.scan_share(Share::of(rank, ranks), CacheUse::Nothing, &mut gather, &Unwatched)?);
            edges.append(&mut gather[0].0);
        }
        let mut sums = vec![0; seen[0].sums().len()];
        for seen in &mut seen {
            sums.iter_mut().zip(seen.sums()).for_each(|(sum, one)| *sum += *one);
        }
        for mut seen in seen {
            seen.sums().copy_from_slice(&sums);
            seen.finish()?;
        }
        edges.sort_unstable();
        Ok(edges)
    }
}

#[track_caller]
fn reads(name: &str, contents: &str, columns: &str, want: &[[u64; 2]]) {
    let mut want = want.to_vec();
    want.sort_unstable();
    let found = Case::new(name, contents).read(None, &options(columns, None));
    assert_eq!(found, Ok(want), "{name} {contents:?} {columns}");
}

/// The message, in which all of `wanted` must stand.
#[track_caller]
fn refuses(name: &str, contents: impl AsRef<[u8]>, columns: &str, wanted: &[&str]) -> String {
    let text = Case::new(name, contents).read(None, &options(columns, None)).expect_err("it was read");
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted:?} is not in {text}");
    }
    text
}

#[test]
fn names_in_a_header_line_say_which_columns_are_ids() {
    let want = [[5, 6], [6, 7], [5, 7]];
    reads("a.csv", "weight,source,target\n1.5,5,6\n2,6,7\n3,5,7\n", "auto", &want);
    reads("a.csv", "source,target\n5,6\n6,7\n5,7\n", "auto", &want);
    reads("a.csv", "Target,Weight,Source\n6,1,5\n7,1,6\n7,2,5", "auto", &[[5, 6], [6, 7], [5, 7]]);
    reads("a.tsv", "label\tsrc\tdst\na b\t5\t6\n\t6\t7\nc, d\t5\t7\n", "auto", &want);
    reads("a.txt", "FromNodeId ToNodeId\n5 6\n6 7\n5 7\n", "auto", &want);
    reads("a.txt", "# a comment\ntime u v\n9 5 6\n# between\n\n9 6 7\n9 5 7", "auto", &want);
    reads("a.csv", "id,node1,node2\r\n1,5,6\r\n2,6,7\r\n3,5,7\r\n", "auto", &want);
    reads("a.csv", "\"id\";\"from\";\"to\"\n1;5;6\n2;6;7\n3;5;7\n", "auto", &want);
    reads("a.csv", ",src,dst\n0,5,6\n1,6,7\n2,5,7\n", "auto", &want);
    reads("a.csv", ";src;dst\n0;5;6\n1;6;7\n2;5;7\n", "auto", &want);
    reads("a.csv", "\u{feff}Größe,Source,Target\n1,5,6\nzwölf,6,7\n3,5,7\n", "auto", &want);
    reads("a.csv", "weight,source,target\n", "auto", &[]);
    reads("a.csv", "Source,Target,Type\n5,6,Undirected\n6,7,Undirected\n5,7,\"a, \"\"b\"\"\"\n", "auto", &want);
}

#[test]
fn knowledge_graphs_lead_from_head_to_tail_and_arcs_say_what_they_do() {
    let want = [[1, 2], [2, 3], [3, 4]];
    reads("a.csv", "head,relation,tail\n1,7,2\n2,7,3\n3,8,4\n", "auto", &want);
    reads("a.tsv", "t\tr\th\n2\tknows\t1\n3\tknows\t2\n4\tis\t3\n", "auto", &want);
    reads("a.csv", "subject,predicate,object\n1,a,2\n2,b,3\n3,c,4\n", "auto", &want);
    // Without direction all is one; with it the names alone do not say.
    let place = Place::new();
    let input = |columns: &str| {
        let path = place.write("a.csv", "head,tail\n1,2\n");
        Input::find(&[path], None, FileSearch::default()).unwrap().with_text(options(columns, None)).unwrap()
    };
    assert_eq!(scan(&input("auto"), 1).unwrap().len(), 1);
    for (columns, want) in [("head,tail", [[1, 2]]), ("tail,head", [[2, 1]])] {
        assert_eq!(scan(&input(columns).with_direction(), 1).unwrap(), want);
    }
    let text = scan(&input("auto").with_direction(), 1).unwrap_err().to_string();
    assert!(text.contains("a.csv:1: ") && text.contains("columns = [\"tail\", \"head\"]"), "{text}");
    let said = place.gpugraph(&["convert", "a.csv", "b.txt"]).expect(3).err;
    assert!(said.contains("a.csv:1: ") && said.contains("--columns"), "{said}");
    place.gpugraph(&["convert", "a.csv", "b.graph"]).expect(0);
}

#[test]
fn a_header_line_that_names_no_ids_is_refused() {
    for (name, contents) in [
        ("a.csv", "a,b,c\n1,2,3\n"),
        ("a.csv", "person,friend\n1,2\n"),
        ("a.csv", "node,community\n1,2\n"),
        ("a.csv", ",0,1\n0,5,6\n1,5,7\n"),
        ("a.txt", "name age\n1 2\n"),
    ] {
        refuses(name, contents, "auto", &[":1: ", "columns"]);
    }
    // Braces are attributes only behind both ids.
    reads("a.csv", "a{1},5,6\nb{2},6,7\n", "2,3", &[[5, 6], [6, 7]]);
    refuses("a.csv", "source,target\n1,2,3\n", "auto", &[":2: ", "2 columns, as the header line names", "columns"]);
    refuses("a.txt", "http://example.org/graph\nx\n", "auto", &[":1: ", "skip_lines"]);
    // A title of one word is no header line, and says nothing of the columns.
    reads("a.txt", "http://example.org/graph\n# c\n1 2\n2 3\n", "auto", &[[1, 2], [2, 3]]);
    refuses("a.txt", "http://example.org/graph\n4 2\n1 2\n2 3\n", "auto", &[":2: ", "skip_lines"]);
    refuses("a.csv", "source,target\n1,2\n2,3,4\n", "auto", &[":3: ", "columns"]);
}

#[test]
fn columns_are_chosen_by_number_or_name() {
    let want = [[5, 6], [6, 7]];
    reads("a.csv", "0,5,6\n1,6,7\n", "2,3", &want);
    reads("a.csv", ",0,1\n0,5,6\n1,6,7\n", "2,3", &want);
    reads("a.csv", "6,x,5\n7,y,6\n", "3,1", &want);
    reads("a.csv", "a,b,c,d\n0,5,6,0.5\n1,6,7,1e3\n", "2,3,4", &want);
    reads("a.csv", "a,b,c\n0,5,6\n1,6,7\n", "b,c", &want);
    reads("a.csv", "A;B;C\n0;5;6\n1;6;7\n", "b,c,a", &want);
    reads("a.txt", "x 5 6\ny 6 7\n", "2,3", &want);
    reads("a.txt", "5 6 label\n6 7 other\n", "1,2", &want);
    reads("a.txt", "5 6\n6 7\n", "1,2", &want);
    reads("a.txt", "person friend\n5 6\n6 7\n", "1,2", &want);
    reads("a.txt", "5 6 {'a': 1, 'b': {2: 3}}\n6 7 {}\n", "2,1", &[[6, 5], [7, 6]]);
    reads("a.csv", "source,target,src\n6,0,5\n7,0,6\n", "src,source", &want);
    reads("a.csv", "", "2,3", &[]);
    refuses("a.csv", "5,6\n6,7\n", "2,3", &[":1: ", "2 and 3", "columns"]);
    refuses("a.csv", "5,6\n6,7\n", "src,dst", &[":1: ", "src and dst", "columns"]);
    refuses("a.csv", "a,b\n6,7\n", "a,c", &[":1: ", "a and c", "columns"]);
    refuses("a.csv", "a,b,c\n5,6,7\n6,7,x\n", "1,2,3", &[":3: "]);
    refuses("a.csv", "a,b,c\n5,6,7\n6,7\n", "1,2", &[":3: ", "3 columns"]);
}

#[test]
fn a_column_more_or_less_never_moves_the_others() {
    for (name, contents) in [
        ("a.csv", "name,src,dst\nSmith,1,2\nSmith, John,1,2\n"),
        ("a.csv", "name,src,dst\nSmith,1,2\n1,2\n"),
        ("a.tsv", "label\tsrc\tdst\na\t1\t2\n1\t2\n"),
        ("a.tsv", "src\tlabel\tdst\tw\n1\ta\t2\t9\n1\t\t\t9\n"),
        ("a.tsv", "src\tdst\tweight\n1\t2\t3\n\t5\t6\n"),
        ("a.tsv", "src\tdst\tweight\n1\t2\t3\n5\t\t6\n"),
        ("a.csv", "name,src,dst\n\"a, b\",1,2\n\"a, b,1,2\n\",1,2\n"),
        ("a.txt", "1 2 3 4\n1 2 3\n"),
        ("a.txt", "1\t2\t3\n5\t\t6\n"),
        ("a.txt", "5\t\t6\n1\t2\t3\n"),
        ("a.txt", "0 1 2 3\n1 2 3 4 5\n"),
        ("a.csv", "id,src,dst\n1,2,3\r4,5,6\n"),
        ("a.txt", "1 2\n3\r4 5\n"),
    ] {
        let line = if contents.starts_with("name,src,dst\n\"a") || name == "a.tsv" { ":3: " } else { ":" };
        refuses(name, contents, "auto", &[line]);
    }
}

#[test]
fn quotes_around_numbers() {
    let want = [[1, 2], [2, 3], [18446744073709551615, 0]];
    reads("a.csv", "\"1\",\"2\"\n\"2\",\"3\"\n\"18446744073709551615\",\"0\"\n", "auto", &want);
    reads("a.csv", "\"source\",\"target\"\r\n\"1\",\"2\"\r\n2,3\r\n\" 18446744073709551615 \" , 0\r\n", "auto", &want);
    reads("a.csv", "\"w\",\"src\",\"dst\"\n\"0.5\",\"1\",\"2\"\n1,2,3\n\"1e3\",18446744073709551615,0", "auto", &want);
    reads("a.txt", "\"1\" \"2\"\n2 \"3\"\n\"18446744073709551615\" 0\n", "auto", &want);
    reads("a.csv", "t,src,dst\n\"x, \"\"y\"\"\",1,2\n\"\",2,3\n\"\"\"\",18446744073709551615,0\n", "auto", &want);
    for wrong in ["\"1\",\"2", "\"1\"2,3", "\"1,2\"", "\"\",\"2\"", "\"1.5\",\"2\"", "\"1\n\",2", "\"-1\",2"] {
        refuses("a.csv", format!("\"4\",\"5\"\n{wrong}\n4,5\n"), "auto", &[":2: "]);
        refuses("a.csv", format!("{wrong}\n4,5\n"), "auto", &[":1: "]);
    }
    refuses("a.csv", "w,src,dst\n\"x\",1,2\n", "auto", &[":2: ", "1 is a number"]);
    refuses("a.csv", "t,src,dst\n5\" disk,1,2\n", "auto", &[":2: "]);
    refuses("a.csv", "1,2,3,8\"\n", "auto", &[":1: "]);
}

#[test]
fn attributes_that_networkx_writes() {
    let want = [[0, 1], [1, 2], [2, 0]];
    reads("a.txt", "0 1 {}\n1 2 {}\n2 0 {}\n", "auto", &want);
    reads("a.el", "0 1 {'weight': 3}\n1 2 {'weight': -0.5e-3, 'label': 'a} {b'}\n2 0 {}", "auto", &want);
    reads(
        "a.csv",
        "0,1,{'weight': nan}\n1,2,{\"a\": [1, (2, 3)], 'b': {'c': None}}\n2,0,{'x': 'it\\'s'} \r\n",
        "auto",
        &want,
    );
    reads("a.txt", "0\t1\t{'weight': np.float64(2.5)}\n1 2\n2 0 7\n", "auto", &want);
    reads("a.txt", "\"0\" \"1\" {}\n1 2 {'a': 1}\n2 0 {}\n", "auto", &want);
    for wrong in ["{", "{'a", "{'a': [}", "{'weight': 'x'}", "{} 3", "{}}", "{'weight': None}", "{'a\\", "x{}"] {
        refuses("a.txt", format!("0 1 {{}}\n1 2 {wrong}\n2 0 {{}}\n"), "auto", &[":2: "]);
    }
}

#[test]
fn konect_files_by_their_name() {
    let body = "1 2 1 1082008561\n2 3\t1\t1082008562\n1  3 -1 1082008563 \n";
    let want = [[1, 2], [2, 3], [1, 3]];
    for header in ["% sym unweighted\n% 3 3 3\n", "% asym posweighted\n"] {
        reads("out.opsahl-ucsocial", &format!("{header}{body}"), "auto", &want);
    }
    reads("out.some.name", "% sym\n1\t2\n2\t3\n1\t3\n", "auto", &want);
    refuses("out.actor-movie", "% bip unweighted\n1 1\n1 2\n", "auto", &[":1: ", "text"]);
    let named =
        Case::new("out.actor-movie", "% bip unweighted\n1 4\n1 5\n").read(Some(Format::Text), &TextOptions::default());
    assert_eq!(named, Ok(vec![[1, 4], [1, 5]]));
}

#[test]
fn four_columns_and_more() {
    reads("a.txt", "1 2 3 4\n", "auto", &[[1, 2]]);
    reads("a.csv", "1,2,0.5,2010-01-01 12:00:00\n3,4,1,\n", "auto", &[[1, 2], [3, 4]]);
    reads("a.csv", "1,2,friend,\"x, y\",5\n3,4,,,\n", "auto", &[[1, 2], [3, 4]]);
    reads("a.tsv", "1\t2\tx y\t\n3\t4\t\tz\n", "1,2", &[[1, 2], [3, 4]]);
    refuses("a.txt", "1 2 3 4\n1 2 x 4\n", "auto", &[":2: ", "3 is a number"]);
}

#[test]
fn two_columns_may_stand_anywhere_in_their_lines() {
    reads("a.txt", "\t\t1\t\t2\n\t10\t20\n 3 \t 4\n", "auto", &[[1, 2], [10, 20], [3, 4]]);
    reads("a.txt", "1\t\t2", "auto", &[[1, 2]]);
    reads("a.txt", "%\n1 3\t1\n2 3\t1\n", "auto", &[[1, 3], [2, 3]]);
    reads("a.tsv", "3\t3 1\n7\t2 1\n", "auto", &[[3, 3], [7, 2]]);
    reads("out.x", "1 3\t1\t9\n2 3 1 9\n", "auto", &[[1, 3], [2, 3]]);
}

#[test]
fn comments_of_every_kind() {
    let text = "// a\n;b 3\n# c\n% d\n\n1 2\n  // 3 4\n ; 5 6\n2 3\n//";
    reads("a.txt", text, "auto", &[[1, 2], [2, 3]]);
    reads(
        "a.csv",
        &format!("{}\n", text.replace("1 2", "src,dst,t\n1,2,x").replace("2 3", "2,3,y")),
        "auto",
        &[[1, 2], [2, 3]],
    );
    reads("a.csv", "1;2\n2;3\n", "auto", &[[1, 2], [2, 3]]);
    refuses("a.csv", "1;2\n;3;4\n", "auto", &[":2: "]);
    refuses("a.txt", "1 2\n/ 3 4\n", "auto", &[":2: "]);
}

#[test]
fn a_first_line_of_counts_is_refused_and_skipped() {
    let edges = "1 2\n2 3\n3 4\n1 3\n";
    for header in ["4 4", "5 4", "4\t4", "4,4", "4 4 4", " 4 4 "] {
        let text = format!("# c\n{header}\n{edges}");
        refuses("a.txt", &text, "auto", &[":2: ", "skip_lines"]);
        let case = Case::new("a.txt", &text);
        let skipped = case.read(None, &options("auto", Some(1)));
        assert_eq!(skipped, Ok(vec![[1, 2], [1, 3], [2, 3], [3, 4]]), "{header}");
        let kept = case.read(None, &options("auto", Some(0))).unwrap();
        assert_eq!(kept.len(), 5, "{header}");
    }
    refuses("a.csv", "\"4\",\"4\"\n1,2\n2,3\n3,4\n1,3\n", "auto", &[":1: ", "skip_lines"]);
    refuses("a.txt", "5 3\n10 20\n20 30\n40 50\n", "auto", &[":1: ", "skip_lines"]);
    refuses("a.txt", "4\n1 2\n", "auto", &[":1: ", "skip_lines"]);
    refuses("a.txt", "# c\n\n4\n1 2\n", "1,2", &[":3: ", "skip_lines"]);
    // Both directions counted, of edges that have one line; or one, of edges that have two.
    for header in ["4 8", "4 4 8", "4 8 7"] {
        refuses("a.txt", format!("{header}\n{edges}"), "auto", &[":1: ", "twice the number of lines", "skip_lines"]);
    }
    refuses("a.txt", "3 6\n0 1\n1 2\n0 2\n", "auto", &[":1: ", "twice the number of lines"]);
    refuses("a.txt", "3 2\n0 1\n1 2\n1 0\n2 1\n", "auto", &[":1: ", "half the number of lines"]);
    // Rows, columns and entries, or vertices, edges and something else.
    for header in ["3 4 4", "4 4 9"] {
        refuses("a.txt", format!("{header}\n1 2 7\n2 3 7\n3 4 7\n1 3 8\n"), "auto", &[":1: ", "the number of lines"]);
    }
    // Edges, not counts.
    for text in
        ["3 1\n0 1\n1 2\n", "2 4\n0 1\n1 3\n", "9 6\n0 1\n1 2\n0 2\n", "3 4 1\n1 2 1\n2 3 1\n", "5 2 2\n1 2 1\n1 3 1\n"]
    {
        assert_eq!(
            Case::new("a.txt", text).read(None, &TextOptions::default()).map(|e| e.len()),
            Ok(text.lines().count()),
            "{text:?}"
        );
    }
    for text in
        ["1 2\n2 3\n1 3\n", "0 1\n1 2\n", "3 4\n1 2\n2 3\n", "1 0\n", "0 2\n0 1\n1 2\n", "2 3 2\n1 2 1\n1 3 1\n"]
    {
        let lines = text.lines().count();
        assert_eq!(
            Case::new("a.txt", text).read(None, &TextOptions::default()).map(|e| e.len()),
            Ok(lines),
            "{text:?}"
        );
    }
    for (skip, lines) in [(2, 3), (5, 0)] {
        let read = Case::new("a.txt", format!("4 4\n{edges}")).read(None, &options("auto", Some(skip)));
        assert_eq!(read.map(|edges| edges.len()), Ok(lines));
    }
    let short = Case::new("a.txt", edges).read(None, &options("auto", Some(5))).unwrap_err();
    assert!(short.contains("5 lines to skip"), "{short}");
}

#[test]
fn a_line_of_counts_is_found_out_above_any_number_of_lines() {
    let count = 200_000u64;
    let edges: String = (0..count).map(|i| format!("{}\t{}\n", 7 * i, i + 1)).collect();
    assert!(edges.len() > 2 << 20);
    let case = Case::new("a.txt", format!("# c\n9000 {count}\n{edges}# end\n"));
    let text = case.read(None, &TextOptions::default()).unwrap_err();
    assert!(text.starts_with(":2: ") && text.contains("skip_lines"), "{text}");
    let by_ranks = case.by_ranks(None, &TextOptions::default(), 3).unwrap_err().to_string();
    assert!(by_ranks.ends_with(&text), "{by_ranks}");
    assert_eq!(case.read(None, &options("auto", Some(1))).map(|edges| edges.len()), Ok(count as usize));
    for (counts, ratio) in [(2 * count, "twice"), (count / 2, "half")] {
        let case = Case::new("a.txt", format!("9000 {counts}\n{edges}"));
        let text = case.read(None, &TextOptions::default()).unwrap_err();
        assert!(text.starts_with(":1: ") && text.contains(ratio), "{text}");
        // So few vertices have no such number of edges.
        let case = Case::new("a.txt", format!("1 {counts}\n{edges}"));
        assert_eq!(case.read(None, &TextOptions::default()).map(|edges| edges.len()), Ok(count as usize + 1));
    }
    for other in [count - 1, count + 1] {
        let case = Case::new("a.txt", format!("9000 {other}\n{edges}"));
        assert_eq!(case.read(None, &TextOptions::default()).map(|edges| edges.len()), Ok(count as usize + 1));
    }
}

#[test]
fn a_format_that_is_named_is_taken_at_its_word() {
    let text = "%%MatrixMarket matrix coordinate pattern symmetric\n% c\n1 2\n2 3\n1 3\n";
    for name in ["a.txt", "a.edges", "a.mtx", "none"] {
        let case = Case::new(name, text);
        assert_eq!(case.read(Some(Format::Text), &TextOptions::default()), Ok(vec![[1, 2], [1, 3], [2, 3]]), "{name}");
    }
    refuses("a.txt", text, "auto", &[":1: ", "mtx", "text"]);
    // With the sizes that such a file has it is no list.
    let text = text.replace("% c\n", "3 3 3\n");
    let refused = Case::new("a.mtx", text).read(Some(Format::Text), &TextOptions::default()).unwrap_err();
    assert!(refused.starts_with(":2: ") && refused.contains("skip_lines"), "{refused}");
}

#[test]
fn a_text_error_says_what_to_do() {
    for (contents, line, wanted) in [
        ("alice bob\nbob carol\n", 1, "awk"),
        ("alice,bob\nbob,carol\n", 1, "number the ids"),
        ("source target\nalice bob\n", 2, "number the ids"),
        ("1 2\n3\n", 2, "skip_lines"),
        ("1 2\n3 4 x\n", 2, "columns"),
        ("0\t1\t8\"\n", 1, "quotes that end"),
        ("0 1 x\n", 1, "columns"),
        ("1 2\n3 4 5 6\n", 2, "columns"),
        ("1 2 3 4\n1 2\n", 2, "columns"),
        ("1 2\n\u{0}\u{1}\n", 2, "format"),
        ("1 2\nx y\n", 2, "format"),
        ("1 x\n", 1, "columns"),
        ("1 2\r3 4\r5 6\r", 1, "tr '\\r'"),
        ("\u{0}1 2\n", 1, "format"),
    ] {
        refuses("a.txt", contents, "auto", &[&format!(":{line}: "), wanted]);
    }
    let utf16: Vec<u8> = "\u{feff}1 2\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    refuses("a.txt", utf16, "auto", &["iconv"]);
}

#[test]
fn hostile_text_is_refused_or_read_and_no_more() {
    let long = "x".repeat(2 << 20);
    refuses("a.csv", format!("{long},src,dst\n1,2,3\n"), "auto", &[":1: "]);
    refuses("a.csv", format!("{long},src,dst\n1,2,3\n"), "2,3", &["within the first 1048576 bytes"]);
    refuses("a.csv", format!("src,dst,name\n1,2,x\n1,2,{long}\n"), "auto", &[":3: "]);
    refuses("a.csv", format!("src,dst,name\n1,2,\"x{long}\n"), "auto", &[":"]);
    refuses("a.txt", format!("1 2 {{'a': '{long}'}}\n"), "auto", &[":1: "]);
    refuses("a.txt", format!("1 2 {}\n", "{".repeat(1 << 19)), "auto", &[":1: "]);
    refuses("a.csv", ",".repeat(1 << 19), "auto", &[":1: "]);
    refuses("a.csv", "\"".repeat((1 << 19) + 1), "auto", &[":1: "]);
    refuses("a.csv", [0u8; 5000], "auto", &[":1: ", "format"]);
    // A header line below comments, and fields as long as a line may be.
    let comments = "# c\n".repeat(200_000);
    reads("a.csv", &format!("{comments}w,src,dst\n1,5,6\n"), "auto", &[[5, 6]]);
    let field = "x".repeat((1 << 20) - 100);
    reads("a.csv", &format!("name,src,dst\na,5,6\n{field},6,7\n"), "auto", &[[5, 6], [6, 7]]);
    // More comments than can be looked at, above lines that could be an edge, a header line, counts and an index.
    let comments = "# c\n".repeat(300_000);
    let lines = ["5 6\n6 7 1\n", "w src dst\n1 5 6\n", "3 2\n1 2\n2 3\n", "0,1,2\n1,2,3\n2,1,3\n"];
    for lines in lines {
        for columns in ["auto", "1,2"] {
            let text = format!("{comments}{lines}");
            refuses("a.csv", text, columns, &[":1: ", "within the first 1048576 bytes"]);
        }
    }
    refuses("a.csv", format!("w,src,dst\n{comments}1,5,6\n"), "auto", &[":2: ", "within the first 1048576 bytes"]);
    reads("a.txt", &format!("5 6\n{comments}6 7\n"), "auto", &[[5, 6], [6, 7]]);
}

/// Reads a table as a spreadsheet would: no chunks, no state, one character after the other.
fn naive(text: &str, delimiter: char, [u, v]: [usize; 2]) -> Edges {
    let mut edges = Edges::new();
    for line in text.split('\n').filter(|line| !line.trim().is_empty() && !line.starts_with('#')).skip(1) {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        for c in line.trim_end_matches('\r').chars() {
            match c {
                '"' => quoted = !quoted,
                c if c == delimiter && !quoted => fields.push(String::new()),
                c => fields.last_mut().unwrap().push(c),
            }
        }
        edges.push([u, v].map(|at| fields[at].trim().parse().unwrap()));
    }
    edges.sort_unstable();
    edges
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Tables with ids in any two columns, quoted or not.
    #[test]
    fn tables_of_any_shape(
        delimiter in proptest::sample::select(vec![',', ';', '\t']),
        columns in 2usize..6,
        places in (0usize..100, 0usize..100),
        rows in proptest::collection::vec((any::<(u64, u64)>(), any::<u64>()), 0..20),
        crlf in any::<bool>(),
    ) {
        let u = places.0 % columns;
        let v = (u + 1 + places.1 % (columns - 1)) % columns;
        let field = |at: usize, row: &((u64, u64), u64), nth: usize| {
            let random = row.1.rotate_left(13 * nth as u32);
            let text = match at {
                _ if at == u => row.0.0.to_string(),
                _ if at == v => row.0.1.to_string(),
                _ => ["", "a b", "x", "1.5", "-7", "é"][random as usize % 6].to_owned(),
            };
            match random >> 60 {
                0..4 => format!("\"{text}\""),
                4 if at != u && at != v => format!("\"{text}{delimiter}\""),
                5 => format!(" {text} "),
                _ => text,
            }
        };
        let names: Vec<String> = (0..columns).map(|at| match at {
            _ if at == u => "source".into(),
            _ if at == v => "target".into(),
            _ => format!("c{at}"),
        }).collect();
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = names.join(&delimiter.to_string()) + end;
        for row in &rows {
            let fields: Vec<String> = (0..columns).map(|at| field(at, row, at + 1)).collect();
            text += &(fields.join(&delimiter.to_string()) + end);
        }
        let want = naive(&text, delimiter, [u, v]);
        let case = Case::new("a.csv", &text);
        prop_assert_eq!(case.read(None, &TextOptions::default()), Ok(want.clone()), "{}", &text);
        let by_number = options(&format!("{},{}", u + 1, v + 1), None);
        prop_assert_eq!(case.read(None, &by_number), Ok(want), "{}", &text);
    }

    /// Anything else is the same in chunks of any size, packed or not, and nothing but bad input.
    #[test]
    fn any_text_is_read_or_refused(
        contents in "([0-9]{1,3}|src|dst|[\"'{}:;,\t\r\n #%/]|\u{0}|é|,|\n| ){0,60}",
        columns in proptest::sample::select(vec!["auto", "2,3", "1,2", "src,dst", "3,1,2"]),
        skip in proptest::option::of(0u64..3),
    ) {
        let case = Case::new("a.csv", &contents);
        let read = case.read(None, &options(columns, skip));
        if let Ok(edges) = read {
            prop_assert!(edges.len() <= contents.lines().count());
        }
    }
}

/// Columns as a job and `convert` take them, in what they count and what they resume.
#[test]
fn jobs_and_convert_choose_columns() {
    let place = Place::new();
    // By the first two columns a path, by the last two a triangle.
    place.write("a.csv", "x,y,z\n1,5,6\n2,6,7\n3,5,7\n");
    place.job("path = \"a.csv\"", "");
    let refused = place.gpugraph(&["run", "job.toml"]).expect(3).err;
    assert!(refused.contains("columns"), "{refused}");
    let count = |set: &str| triangles(&place.report(&["--fresh", "--set", set]));
    for columns in ["[2, 3]", "[\"y\", \"z\"]", "2,3", "[2, 3, 1]"] {
        assert_eq!(count(&format!("input.columns={columns}")), 1, "{columns}");
    }
    assert_eq!(count("input.columns=[1, 2]"), 0);
    // The same bytes in other columns are another graph: nothing of the run before holds.
    let ran = place.gpugraph(&["run", "job.toml", "--set", "input.columns=[2,3]"]);
    assert!(ran.code != 0 || triangles(&place.read_report()) == 1);
    let manifest = std::fs::read_to_string(place.workdir().join("manifest.json")).unwrap();
    assert!(manifest.contains("columns"), "{manifest}");

    place.gpugraph(&["convert", "a.csv", "b.txt", "--columns", "y,z"]).expect(0);
    assert_eq!(std::fs::read_to_string(place.path("b.txt")).unwrap(), "5\t6\n6\t7\n5\t7\n");
    place.gpugraph(&["convert", "a.csv", "c.txt", "--columns", "1,2", "--skip-lines", "1"]).expect(0);
    assert_eq!(std::fs::read_to_string(place.path("c.txt")).unwrap(), "1\t5\n2\t6\n3\t5\n");
    place.gpugraph(&["convert", "b.txt", "b.u32"]).expect(0);
    for wrong in [&["--columns", "2"][..], &["--columns", "0,1"], &["--columns", "1,b"]] {
        place.gpugraph(&[&["convert", "a.csv", "d.txt"], wrong].concat()).expect(2);
    }
    place.gpugraph(&["convert", "b.u32", "d.txt", "--columns", "1,2"]).expect(2);
    for wrong in ["input.columns=[1]", "input.columns=[1, 1]", "input.columns=[1, 'a']", "input.skip_lines=-1"] {
        let said = place.gpugraph(&["run", "job.toml", "--set", wrong]).expect(2).err;
        assert!(said.contains("input."), "{said}");
    }
    let said =
        place.gpugraph(&["run", "job.toml", "--set", "input.format=u32", "--set", "input.columns=[1, 2]"]).expect(2);
    assert!(said.err.contains("input.columns is for text"), "{}", said.err);
}

/// A plan looks at the columns that are counted: ids of another column would be another plan.
#[test]
fn a_plan_looks_at_the_chosen_columns() {
    let place = Place::new();
    let rows: String = (0..1_200_000u64).map(|i| format!("{},{},{}\n", 3_000_000_000 + i, i % 1000, i % 999)).collect();
    place.write("a.csv", format!("time,src,dst\n{rows}"));
    place.job("path = \"a.csv\"", "");
    let plan = place.gpugraph(&["plan", "job.toml", "--json"]).expect(0).out;
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let ids = plan["ids"].as_u64().or(plan["vertices"].as_u64()).unwrap_or_else(|| panic!("{plan}"));
    assert!(ids < 2000, "{ids}");
}

#[test]
fn shapes_of_the_shared_graphs() {
    let Some(folder) = reference_graphs() else { return };
    let text = std::fs::read_to_string(folder.join("snap/ca-GrQc.txt")).expect("a graph");
    let lines = || text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    let want: Edges = lines()
        .map(|line| {
            let mut ids = line.split_ascii_whitespace().map(|id| id.parse().unwrap());
            [ids.next().unwrap(), ids.next().unwrap()]
        })
        .collect();
    let written = |row: &dyn Fn(usize, [u64; 2]) -> String, heading: &str| {
        let rows: String = want.iter().enumerate().map(|(nth, edge)| row(nth, *edge) + "\n").collect();
        heading.to_owned() + &rows
    };
    let mut sorted = want.clone();
    sorted.sort_unstable();
    for (name, text) in [
        ("a.csv", written(&|nth, [u, v]| format!("{nth},{u},{v}"), ",source,target\n")),
        ("a.csv", written(&|_, [u, v]| format!("\"{u}\",\"{v}\""), "\"src\",\"dst\"\n")),
        ("a.txt", written(&|nth, [u, v]| format!("{u} {v} {{'weight': {nth}}}"), "")),
        ("out.ca-GrQc", written(&|nth, [u, v]| format!("{u} {v} 1 {nth}"), "% sym unweighted\n")),
    ] {
        assert!(Case::new(name, text).read(None, &TextOptions::default()).unwrap() == sorted, "{name}");
    }
}
