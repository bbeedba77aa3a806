//! Jobs and commands on Parquet.

use super::read::{karate, own};
use crate::support::{Place, number, triangles};

#[test]
fn run_plan_and_verify_work_as_with_any_input() {
    let place = Place::new();
    let file = own("pandas-index");
    place.job_on(&file, "[triangle]\nper_vertex = true\n");
    let plan = place.gpugraph(&["plan", "job.toml"]).expect(0);
    assert!(plan.out.contains("78 edges"), "{}", plan.out);
    let report = place.report(&[]);
    assert_eq!((triangles(&report), number(&report, "input.edges"), number(&report, "graph.vertices")), (45, 78, 34));
    place.gpugraph(&["verify", "job.toml"]).expect(0);
    // Other columns of the same file are another graph.
    let other = place.path("other.parquet");
    std::fs::copy(own("many-columns"), &other).unwrap();
    place.job(&format!("path = '{}'\ncolumns = ['a', 'b']", other.display()), "[job]\nworkdir = 'second'\n");
    place.run(&[]).expect(0);
    place.job(&format!("path = '{}'\ncolumns = [3, 3]", other.display()), "[job]\nworkdir = 'third'\n");
    place.run(&[]).expect(2);
    place.job(&format!("path = '{}'", other.display()), "[job]\nworkdir = 'third'\n");
    for command in ["plan", "run"] {
        let ran = place.gpugraph(&[command, "job.toml"]).expect(3);
        assert!(ran.error().contains("columns = [\"a\", \"b\"]"), "{}", ran.err);
    }
}

#[test]
fn options_for_lines_are_refused_and_columns_taken() {
    let place = Place::new();
    let path = own("pandas-numbers");
    let job = |more: &str| place.job(&format!("path = '{}'\nformat = 'parquet'\n{more}", path.display()), "");
    job("columns = ['0', '1']");
    assert_eq!(triangles(&place.report(&[])), 45);
    job("columns = ['0', '1']\nskip_lines = 1");
    let ran = place.run(&[]).expect(2);
    assert!(ran.err.contains("skip_lines is for text"), "{}", ran.err);
}

#[test]
fn convert_reads_it_and_does_not_write_it() {
    let place = Place::new();
    let from = own("many-columns");
    let from = from.to_str().unwrap();
    place.gpugraph(&["convert", from, "a.txt", "--columns", "a,b"]).expect(0);
    let text = std::fs::read_to_string(place.path("a.txt")).unwrap();
    let wanted: String = karate().iter().map(|[u, v]| format!("{u}\t{v}\n")).collect();
    let mut lines: Vec<_> = text.lines().collect();
    let mut want: Vec<_> = wanted.lines().collect();
    lines.sort_unstable();
    want.sort_unstable();
    assert_eq!(lines, want);
    for args in [&["convert", "a.txt", "b.parquet"][..], &["generate", "kronecker", "--scale", "4", "-o", "b.parquet"]]
    {
        let ran = place.gpugraph(args).expect(2);
        assert!(ran.error().contains("gpugraph reads parquet but can't write it"), "{}", ran.err);
        assert!(!place.path("b.parquet").exists());
    }
}

#[test]
fn a_table_by_standard_input_is_copied_and_read() {
    let place = Place::new();
    let mut command = place.command(&["convert", "-", "a.u32", "--from", "parquet"]);
    command.stdin(std::fs::File::open(own("codec-brotli")).unwrap());
    crate::support::Ran::command(&mut command).expect(0);
    assert_eq!(std::fs::read(place.path("a.u32")).unwrap().len(), 78 * 8);
}

#[test]
fn a_limit_that_pages_do_not_fit_is_refused_with_one_that_does() {
    let place = Place::new();
    place.job_on(&own("codec-brotli"), "[limits]\nhost_memory = '48MiB'\nthreads = 2\n");
    let ran = place.gpugraph(&["plan", "job.toml"]).expect(7);
    assert!(ran.error().contains("limits.host_memory"), "{}", ran.err);
    place.job_on(&own("codec-brotli"), "[limits]\nhost_memory = '200MiB'\nthreads = 2\n");
    assert_eq!(triangles(&place.report(&[])), 45);
}
