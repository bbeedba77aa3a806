//! Text that is refused says what reads it: the line is typed, or the columns are chosen, and the graph is the one that was meant.

use std::fs;
use std::io::Write;
use std::process::Command;

use crate::support::{Place, root};

/// The edges that `convert` makes of a file, without direction, in order; ids as they come.
fn edges(place: &Place, args: &[&str]) -> Vec<[u64; 2]> {
    place.gpugraph(&[&["convert"], args, &["edges.out", "--to", "text", "--weights", "none"]].concat()).expect(0);
    let text = fs::read_to_string(place.path("edges.out")).unwrap();
    let edge = |line: &str| {
        let mut ids = line.split_whitespace().map(|id| id.parse().unwrap());
        [ids.next().unwrap(), ids.next().unwrap()]
    };
    text.lines().map(edge).collect()
}

fn refused(place: &Place, name: &str, contents: &str) -> String {
    place.write(name, contents);
    let ran = place.gpugraph(&["convert", name, "edges.out", "--to", "text"]).expect(3);
    assert!(!place.path("edges.out").exists());
    ran.error().to_owned()
}

/// The edges after the columns that the message names are chosen.
#[track_caller]
fn by_columns(name: &str, contents: &str, columns: &str) -> Vec<[u64; 2]> {
    let place = Place::new();
    let error = refused(&place, name, contents);
    let named = format!("[input] columns = [{}], convert --columns {columns}", columns.replace(',', ", "));
    assert!(error.contains(&named), "{named} is not in {error}");
    edges(&place, &[name, "--columns", columns])
}

/// The edges after the line at the end of the message is typed.
#[track_caller]
fn by_line(name: &str, contents: &str) -> Vec<[u64; 2]> {
    let place = Place::new();
    let error = refused(&place, name, contents);
    let behind = ["first: ", "a fraction: ", "between the columns: ", "alone: ", "of an adjacency list "];
    let line =
        behind.iter().find_map(|behind| error.split_once(behind)).unwrap_or_else(|| panic!("no line in {error}")).1;
    let line = line.strip_suffix(" makes edges").unwrap_or(line);
    let line = line.replace("OUT", "made.txt").replace("IN", name);
    let mut shell = Command::new("sh");
    let typed = shell.args(["-c", &line]).current_dir(place.path(".")).output().expect("run sh");
    assert!(typed.status.success(), "{line}: {}", String::from_utf8_lossy(&typed.stderr));
    edges(&place, &["made.txt"])
}

const TRIANGLE: [[u64; 2]; 3] = [[1, 2], [2, 3], [1, 3]];

#[test]
fn an_index_in_front_of_the_ids_is_no_id() {
    // As pandas writes it without names, with them, and with numbers for names.
    assert_eq!(by_columns("a.csv", "0,1,2\n1,2,3\n2,1,3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.csv", ",a,b\n0,1,2\n1,2,3\n2,1,3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.csv", ",0,1\n0,1,2\n1,2,3\n2,1,3\n", "2,3"), TRIANGLE);
    // As R does, of which the heading is a name short.
    assert_eq!(by_columns("a.txt", "\"from\" \"to\"\n\"1\" 1 2\n\"2\" 2 3\n\"3\" 1 3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.csv", "1,1,2\n2,2,3\n3,1,3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.csv", "\"1\",1,2\n\"2\",2,3\n\"3\",1,3\n", "2,3"), TRIANGLE);
    // Of many lines it needs no commas, nor ids that hang together.
    let rows: String = (0..50_000).map(|row| format!("{row}\t{}\t{}\n", 3 * row, 7 * row + 1)).collect();
    let found = by_columns("a.tsv", &rows, "2,3");
    assert!(found.len() == 50_000 && found[7] == [21, 50], "{:?}", found[7]);
    let rows: String = (1..9).map(|row| format!("{row} {} {} 0.5\n", 10 * row, 10 * row + 1)).collect();
    assert_eq!(by_columns("a.txt", &rows, "2,3")[0], [10, 11]);
    // It is an id where that is said.
    let place = Place::new();
    place.write("a.csv", "0,1,2\n1,2,3\n2,1,3\n");
    for columns in ["1,2", "1,2,3"] {
        assert_eq!(edges(&place, &["a.csv", "--columns", columns]), [[0, 1], [1, 2], [2, 1]]);
    }
}

#[test]
fn weights_behind_ids_that_count_are_weights() {
    let place = Place::new();
    let path = |weight: fn(u64) -> String| -> String {
        (0..50).map(|id| format!("{id} {} {}\n", (id + 1) % 50, weight(id))).collect()
    };
    let wel = path(|id| (id % 7).to_string());
    for (name, contents) in [
        ("unit.txt", path(|_| "1".into())),
        ("real.txt", path(|id| format!("{}.5", id % 3))),
        ("negative.txt", path(|id| format!("-{}", id + 1))),
        ("gap.txt", wel.replace("\n20 ", "\n19 ")),
        ("a.wel", wel),
        ("few.txt", "0 1 5\n1 2 3\n2 0 7\n".into()),
        ("far.csv", "0,1,50\n1,2,30\n2,0,70\n".into()),
        ("two.csv", "0,1,1\n1,2,0\n".into()),
    ] {
        let found = edges(&place, &[place.write(name, &contents).to_str().unwrap()]);
        assert!(found.len() == contents.lines().count() && found[..2] == [[0, 1], [1, 2]], "{name}: {found:?}");
    }
}

#[test]
fn a_heading_that_fits_nothing_says_which_columns_are_left() {
    assert_eq!(by_columns("a.csv", "weight,b,a\n0.5,1,2\n0.5,2,3\n0.5,1,3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.csv", "b,when,a\n1,9,2\n2,9,3\n1,9,3\n", "1,2").len(), 3);
    assert_eq!(by_columns("a.csv", "b,time,a\n1,9,2\n2,9,3\n1,9,3\n", "1,3"), TRIANGLE);
    // Nor does a first line with other things in front of its ids.
    assert_eq!(by_columns("a.csv", "2010-01-01,1,2\n2010-01-02,2,3\n2010-01-03,1,3\n", "2,3"), TRIANGLE);
    assert_eq!(by_columns("a.txt", "0.5 1 2\n0.5 2 3\n0.5 1 3\n", "2,3"), TRIANGLE);
}

#[test]
fn ids_written_as_fractions_are_converted_by_the_line_of_the_message() {
    assert_eq!(by_line("a.txt", "1.0 2.0\n2.0 3.0\n1.0 3.0\n"), TRIANGLE);
    // As numpy.savetxt writes them.
    assert_eq!(by_line("a.txt", "1.000000000000000000e+00 2.000000000000000000e+00\n2e0 3e0\n1e0 3e0\n"), TRIANGLE);
    assert_eq!(by_line("a.csv", "source,target\n1.0,2.0\n2.0,3.0\n1.0,3.0\n"), TRIANGLE);
    assert_eq!(by_line("a.csv", "w,source,target\n7,\"1.0\",2.0\n7,2.0,3.0\n7,1.0,3.0\n"), TRIANGLE);
    assert_eq!(by_line("a.csv", "source;target\n1.0;2.0\n2.0;3.0\n1.0;3.0\n"), TRIANGLE);
    assert_eq!(by_line("a.csv", "source,target\n1.0 , 2.0\n2.0,3.0 \n1.0,3.0\n"), TRIANGLE);
    assert_eq!(by_line("a.csv", "target;source\r\n2.0;1.0\r\n3.0;2.0\r\n3.0;1.0\r\n"), TRIANGLE);
    assert_eq!(by_line("a.txt", "1 2\n2.0 3.0\n1 3\n"), TRIANGLE);
    // awk's own numbers have 53 bits.
    let large = 9_007_199_254_740_993;
    assert_eq!(by_line("a.txt", "9007199254740993.0 2\r\n2 +3.\r\n"), [[large, 2], [2, 3]]);
    assert_eq!(by_line("a.csv", "1,9007199254740993.000\n1.5e1,2\n"), [[1, large], [15, 2]]);
}

#[test]
fn a_line_of_one_number_is_skipped_only_at_the_top() {
    let place = Place::new();
    assert!(refused(&place, "top.txt", "3\n1 2\n2 3\n1 3\n").contains("skip_lines = 1"));
    let below = refused(&place, "below.txt", "1 2\n3\n2 3\n");
    assert!(below.contains("below.txt:2") && !below.contains("skip_lines = 1"), "{below}");
}

#[test]
fn what_stands_between_the_ids_is_replaced_by_the_line_of_the_message() {
    for between in ["|", "||", "::", "->", ":", "--", "=", "/"] {
        let contents: String = TRIANGLE.iter().map(|[u, v]| format!("{u}{between}{v}\n")).collect();
        assert_eq!(by_line("a.txt", &contents), TRIANGLE, "{between}");
        if between == "|" {
            assert_eq!(by_line("a.csv", &format!("source|target\n{contents}")), TRIANGLE);
        }
    }
    assert_eq!(by_columns("a.txt", "1 -> 2\n2 -> 3\n1 -> 3\n", "1,3"), TRIANGLE);
    assert_eq!(by_line("a.txt", "(1, 2)\n(2, 3)\n(1, 3)\n"), TRIANGLE);
    assert_eq!(by_line("a.txt", "1: 2 3\n2: 3\n3:\n"), [[1, 2], [1, 3], [2, 3]]);
    for between in [" ", ",", ";", "\t"] {
        let contents = "1 2\n2 3 1\n".replace(' ', between);
        assert_eq!(by_line("a.txt", &contents), [[1, 2], [2, 3], [2, 1]], "{between:?}");
    }
    // Semicolons are read as they are, and a sign is nothing that separates.
    let place = Place::new();
    place.write("a.txt", "1;2\n2;3\n1;3\n");
    assert_eq!(edges(&place, &["a.txt"]), TRIANGLE);
    fs::remove_file(place.path("edges.out")).unwrap();
    assert!(!refused(&place, "a.txt", "1 -2\n2 -3\n").contains("sed"));
}

#[test]
fn ids_that_are_words_are_numbered_by_the_line_of_the_message() {
    let want = [[0, 1], [1, 2], [0, 2]];
    assert_eq!(by_line("a.txt", "ann bob\nbob cy\nann cy\n"), want);
    assert_eq!(by_line("a.csv", "ann,bob\nbob,cy\nann,cy\n"), want);
    assert_eq!(by_line("a.tsv", "ann lee\tbob\nbob\tcy\nann lee\tcy\n"), want);
    assert_eq!(by_line("a.csv", "source,target\nann,bob\nbob,cy\nann,cy\n"), want);
    assert_eq!(by_line("a.csv", "weight,source,target\n1,ann,bob\n1,bob,cy\n1,ann,cy\n"), want);
    assert_eq!(by_line("a.txt", "10.0.0.1 10.0.0.2\n10.0.0.2 10.0.0.3\n10.0.0.1 10.0.0.3\n"), want);
    assert_eq!(by_line("a.txt", "<a> <knows> <b> .\n<b> <knows> <c> .\n<a> <knows> <c> .\n"), want);
    if Command::new("python3").arg("--version").output().is_err() {
        return println!("SKIPPED: no python3");
    }
    assert_eq!(by_line("a.csv", "\"lee, ann\",bob\nbob,cy\n\"lee, ann\",cy\n"), want);
    assert_eq!(by_line("a.csv", "source,target\n\"lee, ann\",bob\nbob,cy\n\"lee, ann\",cy\n"), want);
}

#[test]
fn what_a_message_says_of_a_line_does_not_depend_on_what_follows() {
    let place = Place::new();
    let error = |contents: &str| refused(&place, "a.txt", contents);
    assert_eq!(error("0 8\n3 1 7\n"), error("0 8\n3 1 7\n\t0;\n"));
}

#[test]
fn text_of_dimacs_is_told_by_its_header() {
    let place = Place::new();
    let error = refused(&place, "a.txt", "c made\np sp 3 3\na 1 2 1\na 2 3 1\na 1 3 1\n");
    assert!(error.contains("name the format gr"), "{error}");
    assert_eq!(edges(&place, &["a.txt", "--from", "gr"]).len(), 3);
}

/// A file that is refused: its name and bytes, what the message says, the file that its line makes, and the edges of that.
type Case<'a> = (&'a str, Vec<u8>, &'a [&'a str], &'a str, &'a str);

/// Types the line at the end of each message, and converts what it makes.
#[track_caller]
fn followed(cases: &[Case<'_>]) {
    for (name, contents, says, made, want) in cases {
        let place = Place::new();
        place.write(name, contents);
        let ran = place.gpugraph(&["convert", name, "edges.out", "--to", "text"]).expect(3);
        let error = ran.error();
        assert!(says.iter().all(|said| error.contains(said)), "{says:?} of {name} are not in {error}");
        let line = error.rsplit(": ").next().unwrap().replace("OUT", made).replace("IN", name);
        if line.starts_with("python3") && Command::new("python3").arg("--version").output().is_err() {
            println!("SKIPPED: no python3");
            continue;
        }
        let typed = Command::new("sh").args(["-c", &line]).current_dir(place.path(".")).output().expect("run sh");
        assert!(typed.status.success(), "{line}: {}", String::from_utf8_lossy(&typed.stderr));
        place.gpugraph(&["convert", made, "edges.out", "--to", "text"]).expect(0);
        let text = fs::read_to_string(place.path("edges.out")).unwrap();
        let text = text.replace('\t', " ").replace(".0\n", "\n");
        assert_eq!(text.trim_end(), *want, "{name}: {line}");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

const MTX: &str = "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.5\n2 3 2.5\n";
const GR: &str = "p sp 3 2\na 1 2 1.5\na 2 3 2.5\n";
const METIS: &str = "3 2 1\n2 1.5\n1 1.5 3 2.5\n2 2.5\n";
const WEIGHTED: &str = "0 1 1.5\n1 2 2.5";

#[test]
fn commas_in_numbers_are_named_and_written_as_points() {
    let with = |text: &str| text.replace(".5", ",5").into_bytes();
    let says = |line| ["decimal points", line];
    followed(&[
        ("a.csv", with("source;target;weight\n0;1;1.5\n1;2;2.5\n"), &says("a.csv:2"), "b.csv", WEIGHTED),
        ("a.csv", with("0;1;1.5\n1;2;2.5\n"), &says("a.csv:1"), "b.csv", WEIGHTED),
        ("a.csv", with("u;v;w;what\n0;1;1.5;x\n1;2;2.5;y\n"), &says("a.csv:2"), "b.csv", WEIGHTED),
        ("a.txt", with("0 1 1.5\n1 2 2.5\n"), &says("a.txt:1"), "b.txt", WEIGHTED),
        ("a.txt", with("0\t1\t1.5\r\n1\t2\t2.5\r\n"), &says("a.txt:1"), "b.txt", WEIGHTED),
        ("a.tsv", with("source\ttarget\tweight\n0\t1\t1.5\n1\t2\t2.5\n"), &says("a.tsv:2"), "b.tsv", WEIGHTED),
        ("a.csv", with("source;target;weight\n0;1;1\n1;2;2.5\n"), &says("a.csv:3"), "b.csv", "0 1 1\n1 2 2.5"),
        ("a.csv", with("source,target,weight\n0,1,\"1.5\"\n1,2,\"2.5\"\n"), &says("a.csv:2"), "b.csv", WEIGHTED),
        ("a.csv", b"0;1;1.234,5\n1;2;2,5\n".into(), &says("thousands"), "b.csv", "0 1 1234.5\n1 2 2.5"),
        ("a.mtx", with(MTX), &says("a.mtx:3"), "b.mtx", WEIGHTED),
        ("a.gr", with(GR), &says("a.gr:2"), "b.gr", WEIGHTED),
        ("a.graph", with(METIS), &says("a.graph:2"), "b.graph", "0 1 1.5\n1 0 1.5\n1 2 2.5\n2 1 2.5"),
        ("a.csv", b"\"1,234\",\"1,000,000\"\n\"7\",8\n".into(), &["without commas"], "b.csv", "1234 1000000\n7 8"),
    ]);
}

#[test]
fn a_byte_order_mark_is_passed_over_and_other_encodings_and_ends_of_lines_are_named() {
    let both = "0 1 1.5\n1 0 1.5\n1 2 2.5\n2 1 2.5";
    let files = [
        ("a.txt", "0 1 1.5\n1 2 2.5\n", WEIGHTED),
        ("a.csv", "source,target,weight\n0,1,1.5\n1,2,2.5\n", WEIGHTED),
        ("a.mtx", MTX, WEIGHTED),
        ("a.gr", GR, WEIGHTED),
        ("a.graph", METIS, both),
    ];
    for (name, text, want) in files {
        let place = Place::new();
        let marked = format!("\u{feff}{text}").into_bytes();
        let packed = format!("b.{name}.gz");
        place.write(&packed, gzip(&marked));
        for name in [place.write(name, &marked).to_str().unwrap(), &packed] {
            place.gpugraph(&["convert", name, "edges.out", "--to", "text"]).expect(0);
            let edges = fs::read_to_string(place.path("edges.out")).unwrap();
            assert_eq!(edges.trim_end().replace('\t', " "), want, "{name}");
            fs::remove_file(place.path("edges.out")).unwrap();
        }
        let wide = |text: &str, big: bool| -> Vec<u8> {
            text.encode_utf16().flat_map(|c| if big { c.to_be_bytes() } else { c.to_le_bytes() }).collect()
        };
        let made = format!("b{}", &name[1..]);
        let ends = text.replace('\n', "\r").into_bytes();
        followed(&[
            (name, wide(&format!("\u{feff}{text}"), false), &["found UTF-16;"], &made, want),
            (name, wide(&format!("\u{feff}{text}"), true), &["found UTF-16;"], &made, want),
            (name, wide(text, false), &["found UTF-16LE;"], &made, want),
            (name, wide(text, true), &["found UTF-16BE;"], &made, want),
            (name, ends, &["line feed", "carriage return"], &made, want),
        ]);
    }
    // Also where the first line does not end within what is looked at.
    let long = "0 1\r".repeat(1 << 19).into_bytes();
    let want = "0 1\n".repeat(1 << 19);
    followed(&[("a.txt", long, &["carriage return"], "b.txt", want.trim_end())]);
}

#[test]
fn a_packing_that_the_name_does_not_tell_is_named() {
    let (text, want) = (b"0 1\n1 2\n", "0 1\n1 2");
    let pairs: Vec<u8> = [0, 1, 1, 2u32].iter().flat_map(|id| id.to_le_bytes()).collect();
    let plain = ["text that is not packed", "take ."];
    let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bz2.write_all(text).unwrap();
    followed(&[
        ("a.txt.gz", text.into(), &plain, "a.txt", want),
        ("a.el.zst", text.into(), &plain, "a.el", want),
        ("a.csv.bz2", b"source,target\n0,1\n1,2\n".into(), &plain, "a.csv", want),
        ("a.TXT.XZ", text.into(), &plain, "a.TXT", want),
        ("a.u32.gz", pairs.clone(), &["a.u32.gz: expected a gzip stream, found other bytes"], "a.u32", want),
        ("a.txt.gz", bz2.finish().unwrap(), &["found a bzip2 stream", "ending .bz2"], "a.txt.bz2", want),
        ("a.txt.zst", gzip(text), &["found a gzip stream", "ending .gz"], "a.txt.gz", want),
        ("a.u32", gzip(&pairs), &["found a gzip stream", "ending .gz"], "a.u32.gz", want),
        ("a.txt.gz", crate::foreign::zip("0 1\n1 2\n"), &["a zip archive"], "a.txt.gz.d", want),
    ]);
    // What begins as it should and ends too early is damaged.
    let place = Place::new();
    let packed = gzip(&text.repeat(99));
    place.write("a.txt.gz", &packed[..packed.len() - 4]);
    let ran = place.gpugraph(&["convert", "a.txt.gz", "edges.out", "--to", "text"]).expect(3);
    assert!(ran.error().contains("cut short or damaged"), "{}", ran.err);
}

#[test]
fn ids_of_more_than_64_bits_are_numbered_whatever_ends_the_lines() {
    const ID: &str = "622188820004259028085";
    let says = ["takes more than 64 bits"];
    let file = |line: &str| line.replace("ID", ID).into_bytes();
    followed(&[
        ("a.txt", file("ID 2\n2 3\nID 3\n"), &says, "b.txt", "0 1\n1 2\n0 2"),
        ("a.txt", file("1 2\n2 ID\n"), &["a.txt:2", says[0]], "b.txt", "0 1\n1 2"),
        ("a.csv", file("source,target\r\nID,2\r\n2,ID\r\n"), &says, "b.txt", "0 1\n1 0"),
        ("a.csv", file("source,target\n\"ID\",\"2\"\n\"2\",\"ID\"\n"), &says, "b.txt", "0 1\n1 0"),
        ("a.csv", file("w,source,target\n0.5,ID,2\n0.5,2,3\n"), &says, "b.txt", "0 1\n1 2"),
        ("a.txt", b"ann bob\r\nbob ann\r\n".into(), &["number the ids first"], "b.txt", "0 1\n1 0"),
    ]);
}

#[test]
fn comments_behind_semicolons_are_known_from_rows() {
    for (contents, want) in [
        ("; made by hand\n0;1\n1;2\n", "0 1\n1 2"),
        ("0;1\n; made in 2020\n1;2\n", "0 1\n1 2"),
        ("0;1\n; a; b; c\n1;2\n;end\n", "0 1\n1 2"),
        ("; a; b; c\n0;1\n1;2\n", "0 1\n1 2"),
        ("source;target;weight\n; from; to\n0;1;3\n;x\n1;2;4\n", "0 1 3\n1 2 4"),
        (";source;target\n0;0;1\n;x\n1;1;2\n;1;3\n", "0 1\n1 2\n1 3"),
        ("0;1;a;b\n;x\n1;2;a;b\n", "0 1\n1 2"),
    ] {
        let place = Place::new();
        place.write("a.csv", contents);
        place.gpugraph(&["convert", "a.csv", "edges.out", "--to", "text"]).expect(0);
        let edges = fs::read_to_string(place.path("edges.out")).unwrap();
        assert_eq!(edges.trim_end().replace('\t', " "), want, "{contents}");
    }
    // A row that lacks an id is none.
    let place = Place::new();
    for contents in ["0;1\n;5\n1;2\n", "0;1;3\n;2;x\n"] {
        let error = refused(&place, "a.csv", contents);
        assert!(error.contains("a.csv:2"), "{error}");
    }
}

#[test]
fn pointers_and_pages_in_place_of_files_are_named_whatever_their_endings() {
    let pointer =
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n";
    let page = "\n<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n";
    let denied = "\u{feff}<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>\n";
    let endings =
        "txt csv el edgelist mtx graph gr u32 u64 bin graph500 npy npz sg wsg txt.gz u32.zst npy.xz csv.bz2 parquet";
    let place = Place::new();
    for ending in endings.split(' ') {
        let name = format!("a.{ending}");
        for (contents, found, remedy) in [
            (pointer, "a pointer of Git LFS", "git lfs pull"),
            (page, "a page of HTML or XML", &format!("curl -fL -o {name} URL")),
            (denied, "a page of HTML or XML", &format!("curl -fL -o {name} URL")),
        ] {
            let error = refused(&place, &name, contents);
            let ends = error.starts_with(&format!("error: {name}")) && error.ends_with(remedy);
            assert!(ends && error.contains(found), "{error}");
        }
    }
    for (ending, to) in [("list", "i32"), ("i32", "list"), ("i64", "list"), ("i32.gz", "list"), ("list.xz", "i32")] {
        let name = format!("a.{ending}");
        for (contents, found) in [(pointer, "a pointer of Git LFS"), (page, "a page of HTML or XML")] {
            place.write(&name, contents);
            let ran = place.gpugraph(&["convert", &name, "list.out", "--to", to]).expect(3);
            assert!(ran.error().contains(found), "{}", ran.err);
        }
    }
}

#[test]
fn text_of_edges_is_no_pair_of_ids() {
    let place = Place::new();
    let read = |name: &str, contents: &[u8], args: &[&str]| {
        place.write(name, contents);
        let found = edges(&place, &[&[name], args].concat());
        fs::remove_file(place.path("edges.out")).unwrap();
        found
    };
    // As NetworkX writes it.
    for (contents, count) in [
        ("0 1 {}\n1 2 {}\n2 0 {}\n", 3),
        ("0 1", 1),
        ("0 1 {}\n", 1),
        ("# Z\u{fc}rich\n0 1 {'weight': 3}\n", 1),
        ("\u{feff}10 21\n", 1),
        ("12 34567", 1),
    ] {
        assert_eq!(read("a.edgelist", contents.as_bytes(), &[]).len(), count, "{contents}");
        assert_eq!(read("a.edgelist.gz", &gzip(contents.as_bytes()), &[]).len(), count, "{contents}");
    }
    let pairs: Vec<u8> = [0, 1, 1, 2u32].iter().flat_map(|id| id.to_le_bytes()).collect();
    for (name, contents) in [("a.edgelist", pairs.clone()), ("a.edgelist.gz", gzip(&pairs))] {
        assert_eq!(read(name, &contents, &[]), [[0, 1], [1, 2]]);
    }
    assert_eq!(read("a.edgelist", b"", &[]), [[0; 2]; 0]);
    // Other endings say what to name.
    for name in ["a.bin", "a.u32", "a.u64", "a.npy", "a.npz", "a.sg", "a.bin.gz"] {
        for text in ["0 1\n1 2\n", "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n6 7\n"] {
            let contents = if name.ends_with("gz") { gzip(text.as_bytes()) } else { text.into() };
            place.write(name, contents);
            let ran = place.gpugraph(&["convert", name, "edges.out", "--to", "text"]).expect(3);
            assert!(
                ran.error().contains("text: \"0 1\"") && ran.error().ends_with("convert --from text"),
                "{}",
                ran.err
            );
            assert_eq!(edges(&place, &[name, "--from", "text"])[..2], [[0, 1], [1, 2]]);
            fs::remove_file(place.path("edges.out")).unwrap();
        }
    }
}

#[test]
fn columns_that_may_be_the_weights_are_named_and_read_when_chosen() {
    for (contents, found, columns) in [
        ("u,v,length\n0,1,5\n1,2,7\n", "numbers in the column \"length\"", "u,v,length"),
        ("a,v,name,cost,u\n1,1,x,5,0\n1,2,y,7,1\n", "numbers in the columns \"a\", \"cost\"", "u,v,a"),
        ("u,v,distance (km)\n0,1,5.5\n1,2,7.5\n", "numbers in the column \"distance (km)\"", "1,2,3"),
        ("0 1 x 5\n1 2 y 7\n", "numbers in the column 4", "1,2,4"),
    ] {
        let place = Place::new();
        place.write("a.csv", contents);
        place.job("path = 'a.csv'", "[sssp]\nsources = [0]");
        let ran = place.run(&[]).expect(2);
        let error = ran.error();
        assert!(error.contains("[sssp]") && error.contains(found), "{found} is not in {error}");
        let asked = place.run(&["--set", "input.weights=f32"]).expect(2);
        assert!(asked.error().contains(found), "{}", asked.err);
        let line = error.split_once("[input] columns = ").expect("columns").1;
        let (job, rest) = line.split_once("], convert --columns ").expect("an end");
        assert_eq!(rest.split(';').next().unwrap(), columns, "{error}");
        place.report(&["--set", &format!("input.columns={job}]")]);
        // What converts leaves them out with a line about it, and not once they are chosen.
        let ran = place.gpugraph(&["convert", "a.csv", "edges.txt"]).expect(0);
        assert!(ran.err.contains(found) && ran.err.lines().count() == 1, "{}", ran.err);
        let ran = place.gpugraph(&["convert", "a.csv", "weighted.txt", "--columns", columns]).expect(0);
        assert_eq!(ran.err, "");
        let counts = ["edges.txt", "weighted.txt"].map(|name| {
            let text = fs::read_to_string(place.path(name)).unwrap();
            text.lines().next().unwrap().split_whitespace().count()
        });
        assert_eq!(counts, [2, 3]);
    }
    // Two columns have none.
    let place = Place::new();
    place.write("a.csv", "u,v\n0,1\n");
    assert_eq!(place.gpugraph(&["convert", "a.csv", "edges.txt"]).expect(0).err, "");
    place.job("path = 'a.csv'", "[sssp]\nsources = [0]");
    assert!(place.run(&[]).expect(2).error().contains("found none; name a file that has them"));
}

#[test]
fn the_edges_of_a_graphalytics_graph_are_the_file_to_name() {
    let place = Place::new();
    fs::create_dir(place.path("g")).unwrap();
    place.write("g/g.v", "1\n2\n3\n");
    place.write("g/g.e", "1 2 0.5\n2 3 0.5\n1 3 0.5\n");
    place.write("g/g.properties", "graph.g.vertex-file = g.v\ngraph.g.edge-file = g.e\ngraph.g.directed = false\n");
    for name in ["g", "g/g.v", "g/g.properties"] {
        let ran = place.gpugraph(&["convert", name, "edges.out", "--to", "text"]).expect(3);
        assert!(ran.error().contains("Graphalytics") && ran.error().ends_with(": g/g.e"), "{}", ran.err);
    }
    assert_eq!(edges(&place, &["g/g.e"]), TRIANGLE);
}

#[test]
fn headers_that_declare_what_no_file_has_are_refused() {
    let place = Place::new();
    let most = u64::MAX.to_string();
    for (name, header) in
        [("a.gr", "p sp N 1\na 1 2 3\n"), ("a.mtx", "%%MatrixMarket matrix coordinate pattern general\nN N 1\n1 2\n")]
    {
        for n in [most.clone(), (1u64 << 63).saturating_add(1).to_string()] {
            let error = refused(&place, name, &header.replace('N', &n));
            assert!(error.contains("2^63 vertices") && error.contains(&n) && error.contains("header"), "{error}");
        }
        edges(&place, &[place.write(name, header.replace('N', "9223372036854775808")).to_str().unwrap()]);
        fs::remove_file(place.path("edges.out")).unwrap();
    }
}

#[test]
fn lists_of_another_kind_are_named() {
    let place = Place::new();
    let successors = [3i64, 0, 4, 2, -1];
    let of = |bytes: fn(i64) -> Vec<u8>| successors.iter().flat_map(|s| bytes(*s)).collect::<Vec<u8>>();
    let (narrow, wide) = (of(|s| (s as i32).to_le_bytes().into()), of(|s| s.to_le_bytes().into()));
    let want = "5\n3\n0\n4\n2\n-1";
    let error = |name: &str, bytes: &[u8]| {
        place.write(name, bytes);
        place.gpugraph(&["convert", name, "out.list"]).expect(3).error().to_owned()
    };
    let read = |args: &[&str]| {
        place.gpugraph(&[&["convert"], args, &["out.list"]].concat()).expect(0);
        let text = fs::read_to_string(place.path("out.list")).unwrap();
        fs::remove_file(place.path("out.list")).unwrap();
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), want.split('\n').collect::<Vec<_>>(), "{args:?}");
    };
    for (name, bytes, format, bits) in [
        ("a.i32", wide.clone(), "i64", "64 bits"),
        ("a.i32.gz", gzip(&wide), "i64", "64 bits"),
        ("a.i64", [narrow.clone(), narrow[16..].into()].concat(), "i32", "32 bits"),
        ("b.i64", narrow.clone(), "i32", "32 bits"),
        ("c.i32", want.into(), "list", "text"),
    ] {
        let error = error(name, &bytes);
        assert!(error.contains(bits) && error.ends_with(&format!("convert --from {format}")), "{name}: {error}");
        if name != "a.i64" {
            read(&[name, "--from", format]);
        }
    }
    for (name, bytes, says) in [
        ("a.i32", of(|s| (s as i32).to_be_bytes().into()), "big-endian"),
        ("a.i64", of(|s| s.to_be_bytes().into()), "big-endian"),
        ("a.list", "5,3,0,4,2,-1".into(), "blanks"),
        ("b.list", "3\n0\n4\n2\n-1\n".into(), "(wc -w < IN; cat IN) > OUT"),
        ("c.list", "\u{feff}5 3 0 4 2 -1".encode_utf16().flat_map(u16::to_le_bytes).collect(), "UTF-16"),
        ("d.list", "5 3 0 4 2 -1".encode_utf16().flat_map(u16::to_le_bytes).collect(), "UTF-16LE"),
    ] {
        let error = error(name, &bytes);
        assert!(error.contains(says), "{error}");
        let made = format!("made.{}", &name[2..]);
        let line = error.rsplit(": ").next().unwrap();
        let line = line.replace("OUT.i32", &made).replace("OUT.i64", &made).replace("OUT", &made).replace("IN", name);
        let typed = Command::new("sh").args(["-c", &line]).current_dir(place.path(".")).status().expect("run sh");
        assert!(typed.success(), "{line}");
        read(&[&made]);
    }
    for (name, bytes) in [("a.list", b"".as_slice()), ("b.list", b" \n"), ("a.list.gz", &gzip(b""))] {
        let error = error(name, bytes);
        assert!(error.contains("number of elements") && error.contains('0'), "{error}");
    }
    assert!(error("a.list", &narrow).contains("i32 or i64"));
    // A mark in front is none of the numbers, also where chunks end within it.
    let marked = format!("\u{feff}{want}\n").into_bytes();
    place.write("m.list", &marked);
    read(&["m.list"]);
    place.write("m.list.gz", gzip(&marked));
    read(&["m.list.gz"]);
    for chunk in 1..9 {
        let source =
            gpugraph::internals::list::ListSource::open(&place.path("m.list"), None).unwrap().with_chunk(chunk);
        assert_eq!(source.length(2).unwrap(), 5, "{chunk}");
    }
    // Lists of 32 bits are read whatever they are.
    for list in [&[-1i32, -1, 1, 0][..], &[1, -1, -1, 2], &[-1], &[1, 2, 3, -1], &[-1; 8]] {
        let bytes: Vec<u8> = list.iter().flat_map(|s| s.to_le_bytes()).collect();
        place.write("a.i32", bytes);
        place.gpugraph(&["convert", "a.i32", "out.list"]).expect(0);
    }
}

#[test]
fn memory_that_cannot_be_read_is_said_and_a_limit_does() {
    let place = Place::new();
    place.write("a.txt", "0 1\n1 2\n2 0\n");
    place.job("path = 'a.txt'", "");
    let hidden = |args: &[&str]| {
        let mut command = Command::new("unshare");
        let script = "mount --bind /dev/null /proc/meminfo && exec \"$@\"";
        command.args(["-m", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_gpugraph"), "run", "job.toml"]).args(args);
        crate::support::Ran::of(command.current_dir(place.path(".")).output().expect("run unshare"))
    };
    if !root() || hidden(&["--set", "limits.host_memory=1GiB"]).code != 0 {
        return println!("SKIPPED: hiding /proc/meminfo takes root and unshare");
    }
    let ran = hidden(&["--fresh"]);
    // The limit of a cgroup does as well.
    if ran.code != 0 {
        let error = ran.expect(2);
        let text = error.error();
        assert!(text.contains("/proc/meminfo") && text.contains("--set limits.host_memory=8GiB"), "{text}");
    }
    hidden(&["--fresh", "--set", "limits.host_memory=8GiB"]).expect(0);
}

#[test]
fn a_remedy_for_a_list_of_vertices_or_for_generate_names_options_that_they_have() {
    let place = Place::new();
    place.write("a.txt", "1 2\n2 3\n");
    place.job("path = 'a.txt'\nvertices = 'a.v'", "[components]\n");
    for (list, line) in [("1\n2\nx\n", 3), ("1\n2 7\n", 2), ("99999999999999999999\n", 1)] {
        place.write("a.v", list);
        let ran = place.run(&[]).expect(3);
        assert!(ran.error().contains(&format!("a.v:{line}: ")), "{}", ran.err);
        assert!(ran.error().contains("each line has one id") && !ran.error().contains("[input]"), "{}", ran.err);
    }
    // A list has no counts.
    place.write("a.v", "5 4\n1 1\n2 2\n3 0\n4 0\n");
    place.run(&[]).expect(0);
    // The remedy is done by convert.
    place.write("counts.txt", "3 2\n1 2\n2 3\n");
    let error =
        place.gpugraph(&["generate", "product", "counts.txt", "a.txt", "-o", "p.u32"]).expect(3).error().to_owned();
    assert!(error.contains("convert --skip-lines 1") && error.contains("reads what convert writes"), "{error}");
    place.gpugraph(&["convert", "counts.txt", "edges.u32", "--skip-lines", "1"]).expect(0);
    place.gpugraph(&["generate", "product", "edges.u32", "a.txt", "-o", "p.u32"]).expect(0);
}
