//! Text that is refused says what reads it: the line is typed, or the columns are chosen, and the graph is the one that was meant.

use std::fs;
use std::process::Command;

use crate::support::Place;

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
    assert_eq!(by_line("a.txt", "1 2\n2.0 3.0\n1 3\n"), TRIANGLE);
    assert_eq!(by_line("a.txt", "9007199254740993.0 2\n2 3\n").len(), 2);
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
