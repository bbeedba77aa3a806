//! Where the edges of text with string ids begin, and which columns they are in. The expected edges are written by hand.

use crate::support::{Place, Ran, triangles};
use std::fs;

fn convert(place: &Place, name: &str, contents: impl AsRef<[u8]>, options: &[&str]) -> Ran {
    place.write(name, contents);
    place.gpugraph(&[&["convert", name, "edges.out", "--to", "text", "--ids", "string"], options].concat())
}

/// The edges that `convert` reads, as the strings and weights of each, and what it prints.
#[track_caller]
fn edges(name: &str, contents: impl AsRef<[u8]>, options: &[&str]) -> (Vec<String>, String) {
    let place = Place::new();
    let ran = convert(&place, name, contents, options).expect(0);
    let ids = fs::read_to_string(place.path("edges.out.ids.txt")).expect("ids");
    let ids: Vec<&str> = ids.lines().collect();
    let string = |(column, word): (usize, &str)| match word.parse::<usize>() {
        Ok(number) if column < 2 => ids[number].to_owned(),
        _ => word.to_owned(),
    };
    let edge = |line: &str| line.split_whitespace().enumerate().map(string).collect::<Vec<_>>().join("|");
    (fs::read_to_string(place.path("edges.out")).expect("edges").lines().map(edge).collect(), ran.err)
}

#[track_caller]
fn reads(name: &str, contents: impl AsRef<[u8]>, options: &[&str], want: &[&str]) -> String {
    let (edges, printed) = edges(name, contents, options);
    assert_eq!(edges, want, "{name} {options:?}");
    printed
}

#[track_caller]
fn refuses(name: &str, contents: impl AsRef<[u8]>, options: &[&str], wanted: &[&str]) {
    let ran = convert(&Place::new(), name, contents, options).expect(3);
    wanted.iter().for_each(|wanted| assert!(ran.error().contains(wanted), "{wanted:?} is not in {}", ran.err));
}

#[test]
fn a_first_line_whose_ids_occur_again_is_an_edge() {
    for (contents, want) in [
        ("user1,user2\nuser2,user3\nuser3,user1\n", ["user1|user2", "user2|user3", "user3|user1"]),
        ("v1,v0\nv0,v2\nv2,v1\n", ["v1|v0", "v0|v2", "v2|v1"]),
        ("id1,id2,0.5\nid3,id4,2.5\nid5,id6,3.5\n", ["id1|id2|0.5", "id3|id4|2.5", "id5|id6|3.5"]),
        ("s,p,o\np,q,r\nq,s,t\n", ["s|p", "p|q", "q|s"]),
        ("label,u,v\nu,w,x\nw,y,z\n", ["label|u", "u|w", "w|y"]),
    ] {
        let printed = reads("a.csv", contents, &[], &want);
        assert_eq!(printed.contains("is read as an edge"), !contents.contains(".5"), "{printed}");
    }
    for [u, v] in [["node1", "node2"], ["gene1", "gene2"], ["u", "v"], ["i", "j"], ["start", "end"], ["from", "to"]] {
        reads("a.txt", format!("{u} {v}\n{v} w\n"), &[], &[&format!("{u}|{v}"), &format!("{v}|w")]);
    }
    let place = Place::new();
    place.write("u.csv", "user1,user2\nuser2,user3\nuser3,user1\n");
    place.job("path = 'u.csv'\nids = 'string'", "[triangle]\n");
    assert_eq!(triangles(&place.report(&["--quiet"])), 1);
}

#[test]
fn a_first_line_of_names_is_a_header_line_and_the_log_says_so() {
    let rows = "1,a,b\n2,b,c\n";
    let said = reads("a.csv", format!("weight,source,target\n{rows}"), &[], &["a|b|1", "b|c|2"]);
    assert!(
        said.contains("\"weight,source,target\" is skipped as a header line") && said.contains("skip_lines = 0"),
        "{said}"
    );
    assert_eq!(said.matches("header line").count(), 1, "{said}");
    // A header line that is repeated below does not show that it is an edge.
    reads("a.csv", "target,source\nb,a\ntarget,source\n", &[], &["a|b", "source|target"]);
    reads("a.csv", ",source,target\n0,a,b\n,b,c\n", &[], &["a|b", "b|c"]);
    // An edge by what the job says, unless it asks for the names.
    reads("a.csv", "user1,user2\na,b\n", &[], &["a|b"]);
    reads("a.csv", "user1,user2\na,b\n", &["--skip-lines", "0"], &["user1|user2", "a|b"]);
    reads("a.csv", "title\nuser1,user2\na,b\n", &["--skip-lines", "1"], &["user1|user2", "a|b"]);
    let said = reads("a.csv", "user1,user2\na,b\n", &["--columns", "2,1"], &["user2|user1", "b|a"]);
    assert!(said.contains("is read as an edge") && said.contains("skip_lines = 1"), "{said}");
    reads("a.csv", "user1,user2\na,b\n", &["--columns", "user2,user1"], &["b|a"]);
    reads("a.csv", "source,target,2020\na,b,7\n", &["--columns", "source,target"], &["a|b"]);
}

/// Results on a header line are not those on the same line as an edge.
#[test]
fn finished_results_are_not_those_of_a_job_that_has_one_edge_more() {
    let place = Place::new();
    place.write("a.csv", "user1,user2\na,b\n");
    let job = |more: &str| place.job(&format!("path = 'a.csv'\nids = 'string'\n{more}"), "[components]\n");
    job("");
    assert_eq!(place.report(&["--quiet"])["graph"]["edges"], 1);
    job("skip_lines = 0");
    let ran = place.run(&["--quiet"]).expect(5);
    assert!(ran.error().contains("skip_lines = 0"), "{}", ran.err);
    assert_eq!(place.report(&["--quiet", "--fresh"])["graph"]["edges"], 2);
}

#[test]
fn a_first_edge_below_too_many_comments_is_refused() {
    let comments = "# c\n".repeat(300_000);
    let wanted = ["within the first 1048576 bytes"];
    refuses("a.csv", format!("{comments}x y,z\nz,x y\n"), &[], &wanted);
    refuses("a.txt", format!("{comments}source target\na b\n"), &[], &wanted);
    refuses("a.txt", format!("source target\n{comments}a b\n"), &[], &wanted);
    refuses("a.txt", format!("{comments}a b 3\n"), &["--columns", "2,1"], &wanted);
    // Comments below the first edge may have any length.
    reads("a.txt", format!("a b 3\n{comments}b c 4\n"), &[], &["a|b|3", "b|c|4"]);
}

#[test]
fn quotes_and_braces_within_a_column_separate_nothing() {
    let ids = ["a 5\"|b c", "d e|f g", "b c|d e"];
    let tabs = "a 5\"\tb c\nd e\tf g\nb c\td e\n";
    for name in ["q.txt", "q.tsv", "q"] {
        let place = Place::new();
        convert(&place, name, tabs, &["--from", "text"]).expect(0);
        let found = fs::read_to_string(place.path("edges.out.ids.txt")).expect("ids");
        assert_eq!(found, "a 5\"\nb c\nd e\nf g\n", "{name} {ids:?}");
    }
    for contents in ["disc 7\",shop a\n", "a{1} b,c d\n", "New York;Rome\n", "a ;b\n"] {
        refuses("a.txt", contents, &[], &["commas", "blanks"]);
    }
    reads("a.csv", "7\"disc;shop\nshop;7\"disc\n", &[], &["7\"disc|shop", "shop|7\"disc"]);
    reads("a.csv", "a;b;{'x': 1, 'weight': 2}\n", &[], &["a|b|2"]);
    reads("a.txt", "{a},{b}\n", &[], &["{a}|{b}"]);
    // Quotes around a column hide what it has.
    reads("a.txt", "\"a,b\" c\n", &[], &["a,b|c"]);
    reads("a.txt", "a \"b,c\"\n", &[], &["a|b,c"]);
    reads("a.txt", "\"a;b\",\"c\"\n", &[], &["a;b|c"]);
    reads("a.txt", "a b {'weight': 3, 'x': \"y;z\"}\n", &[], &["a|b|3"]);
    reads("a.txt", "a, b\nb , c\n", &[], &["a|b", "b|c"]);
}

#[test]
fn lines_are_skipped_that_could_be_edges() {
    for first in ["//title here", "; title", "; a b"] {
        let contents = format!("# not counted\n\n{first}\na b\nb c\n");
        reads("k.txt", contents, &["--skip-lines", "1"], &["a|b", "b|c"]);
    }
}

#[test]
fn a_format_that_is_named_may_look_like_json() {
    let contents = "[1],[2]\n[2],[3]\n";
    refuses("a.csv", contents, &[], &["JSON"]);
    reads("a.csv", contents, &["--from", "text"], &["[1]|[2]", "[2]|[3]"]);
}

/// Ids are not in the first two columns, and the message chooses all three.
#[test]
fn columns_that_are_not_read_are_named_with_those_of_the_ids() {
    let said = reads("a.csv", "cost,source,target\n5,a,b\n7,b,c\n", &[], &["a|b", "b|c"]);
    assert!(said.contains("--columns source,target,cost"), "{said}");
}
