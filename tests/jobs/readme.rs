//! Checks README.md and the pages of docs: every `sh` line runs as written, in a folder that holds what a clone does. Every job file
//! loads. Every link leads somewhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Place;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md and the pages of docs for users, by their paths, with their texts.
fn pages() -> Vec<(String, String)> {
    read(&["README.md"], &["docs", "docs/guides", "docs/reference"])
}

/// Reads these files and all pages of these folders. A page under an old name is a link to the new one, and skipped.
fn read(files: &[&str], folders: &[&str]) -> Vec<(String, String)> {
    let mut names: Vec<_> = files.iter().map(|&name| name.to_owned()).collect();
    for folder in folders {
        let entries = fs::read_dir(root().join(folder)).expect("a folder").map(|entry| entry.expect("an entry"));
        let files = entries.filter(|entry| entry.file_type().expect("a type").is_file());
        let mut found: Vec<_> =
            files.map(|file| format!("{folder}/{}", file.file_name().to_str().expect("text"))).collect();
        found.retain(|name| name.ends_with(".md"));
        assert!(!found.is_empty(), "{folder} has no pages");
        found.sort();
        names.append(&mut found);
    }
    let read = |name: String| {
        let text = fs::read_to_string(root().join(&name)).expect("a page");
        (name, text)
    };
    names.into_iter().map(read).collect()
}

/// The blocks of one language in all pages, with the place where each starts.
fn blocks(language: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, text) in pages() {
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(tag) = line.strip_prefix("```") else { continue };
            let block: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| !line.starts_with("```")).collect();
            if tag == language {
                found.push((format!("{name}:{}", number + 2), block.join("\n")));
            }
        }
    }
    found
}

fn copy(name: &str, place: &Place) {
    fs::create_dir_all(place.path(name)).expect("a folder");
    for entry in fs::read_dir(root().join(name)).expect("a folder").map(|entry| entry.expect("an entry")) {
        if entry.path().is_file() {
            fs::copy(entry.path(), place.path(name).join(entry.file_name())).expect("copy");
        }
    }
}

#[test]
fn every_command_line_runs_as_written() {
    let place = Place::new();
    copy("configs", &place);
    copy("tests/data", &place);
    fs::create_dir(place.path("docs")).expect("a folder");
    // The command as installed, found by its name.
    let folder = Path::new(env!("CARGO_BIN_EXE_gpugraph")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut seen = 0;
    for (start, block) in blocks("sh") {
        for line in block.replace("\\\n", " ").lines() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let at = format!("the block at {start}: {line}");
            // A test that runs all tests would run itself; a line that says it is big takes hours.
            if line.starts_with("bash tests/run") {
                assert!(root().join("tests/run").is_file(), "{at}");
                continue;
            }
            // Ranks have tests of their own, where there is an MPI.
            let elsewhere =
                ["pip install", "cargo install", "cargo bench", "cargo build", "mpirun ", "STAGE=", "lfs setstripe "];
            // Ways to install: packaging.rs checks their files.
            let installs = start.starts_with("docs/guides/install.md");
            if installs || line.contains("# big") || elsewhere.iter().any(|command| line.starts_with(command)) {
                println!("not run: {at}");
                continue;
            }
            // tests/slurm, tests/pbs and tests/schedulers submit them.
            if ["sbatch ", "qsub ", "bsub ", "flux batch "].iter().any(|command| line.contains(command)) {
                let script = line.split_whitespace().last().unwrap_or_default().trim_start_matches('<');
                assert!(root().join(script).is_file(), "{at}");
                continue;
            }
            if let Some(rest) = ["snakemake -s ", "nextflow run "].iter().find_map(|command| line.strip_prefix(command))
            {
                assert!(root().join(rest.split(' ').next().unwrap_or_default()).is_file(), "{at}");
                continue;
            }
            let line = line.replace("cargo run --release -- ", "gpugraph ");
            let is_known = ["gpugraph ", "cp "].iter().any(|command| line.starts_with(command));
            assert!(is_known, "{at}: a command this test does not know");
            let mut shell = Command::new("bash");
            shell.args(["-c", &line]).current_dir(place.path("")).env("PATH", &path);
            let output = shell.output().expect("run");
            assert!(output.status.success(), "{at}: {}", String::from_utf8_lossy(&output.stderr));
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} commands are shown");
    assert!(place.path("gpugraph.work/quickstart/report.json").is_file(), "the quickstart leaves its report");
}

#[test]
fn every_job_file_shown_is_one() {
    let place = Place::new();
    let mut seen = 0;
    for (start, block) in blocks("toml") {
        // A variable that a test machine may lack.
        let file = place.write("job.toml", block.replace("$USER", "me"));
        gpugraph::internals::config::load(&file, &[]).unwrap_or_else(|e| panic!("{start}: {e}"));
        seen += 1;
    }
    assert!(seen > 0, "no job file is shown");
}

/// A heading's anchor, as the pages' hosts make it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A newcomer reads it to its end.
#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).expect("README.md").lines().count();
    assert!(lines <= 150, "README.md has {lines} lines");
}

#[test]
fn the_readme_leads_to_every_page() {
    let pages = pages();
    for (name, _) in &pages[1..] {
        assert!(pages[0].1.contains(&format!("]({name}")), "README.md does not link to {name}");
    }
}

#[test]
fn links_lead_somewhere() {
    let mut pages = pages();
    pages.append(&mut read(&["ARCHITECTURE.md", "CONTRIBUTING.md"], &["docs/design"]));
    let mut seen = 0;
    for (name, text) in &pages {
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.starts_with("http")) {
            seen += 1;
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(name).parent().expect("a folder");
            let path = if file.is_empty() { root().join(name) } else { root().join(folder).join(file) };
            assert!(path.exists(), "{name} links to {link}, which is not there");
            let there = || fs::read_to_string(&path).expect("text");
            let has = || there().lines().any(|line| line.starts_with('#') && anchor(line) == heading);
            assert!(heading.is_empty() || has(), "{name} links to {link}, where there is no such heading");
        }
    }
    assert!(seen > 20, "links were not found: {seen}");
}
