//! Files for packagers agree with Cargo.toml: versions, names of files, and features.

use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// The EasyBuild file, whose name has the version.
fn easybuild() -> String {
    let entries =
        fs::read_dir(root().join("packaging/easybuild")).expect("a folder").map(|entry| entry.expect("an entry"));
    let names: Vec<_> = entries.map(|entry| entry.file_name().into_string().expect("text")).collect();
    assert_eq!(names.len(), 1, "{names:?}");
    format!("packaging/easybuild/{}", names[0])
}

#[test]
fn every_version_is_that_of_cargo() {
    let version = env!("CARGO_PKG_VERSION");
    // The text on both sides of each version.
    let places = [
        ("CITATION.cff", "\nversion: ", "\n"),
        ("python/Cargo.toml", "\nversion = \"", "\""),
        ("codemeta.json", "\"version\": \"", "\""),
        ("packaging/conda/recipe.yaml", "\n  version: \"", "\""),
        ("packaging/spack/package.py", "version(\"", "\""),
        ("packaging/spack/package.py", "/gpugraph-", "-source.tar.gz"),
        (&easybuild(), "\nversion = '", "'"),
    ];
    for (name, before, behind) in places {
        let text = read(name);
        let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(behind)).map(|(found, _)| found);
        assert_eq!(found, Some(version), "{name}");
    }
    assert!(easybuild().starts_with(&format!("packaging/easybuild/gpugraph-{version}-")), "{}", easybuild());
    let (changelog, date) = (read("CHANGELOG.md"), read("CITATION.cff"));
    let date = date.split_once("date-released: ").and_then(|(_, rest)| rest.lines().next()).expect("a date");
    assert!(changelog.contains(&format!("\n## {version}, {date}\n")), "CHANGELOG.md has no {version} of {date}");
    let codemeta: serde_json::Value = serde_json::from_str(&read("codemeta.json")).expect("JSON");
    assert_eq!(codemeta["dateModified"], date);
}

#[test]
fn every_rust_version_is_that_of_cargo() {
    let rust = env!("CARGO_PKG_RUST_VERSION");
    for (name, words) in [
        ("Dockerfile", format!("FROM rust:{rust}-")),
        ("apptainer.def", format!("From: rust:{rust}-")),
        ("packaging/spack/package.py", format!("\"rust@{rust}:\"")),
    ] {
        assert!(read(name).contains(&words), "{name} has not {words}");
    }
}

/// What the container files and the recipes copy from the source.
#[test]
fn files_that_packaging_names_are_there() {
    let mut named: Vec<(&str, String)> = Vec::new();
    let mut name = |file: &'static str, word: &str| named.push((file, word.to_owned()));
    for line in read("Dockerfile").lines().filter_map(|line| line.strip_prefix("COPY ")) {
        let words: Vec<_> = line.split(' ').collect();
        let sources = &words[..words.len() - 1];
        sources.iter().filter(|_| !words[0].starts_with("--from")).for_each(|word| name("Dockerfile", word));
    }
    let definition = read("apptainer.def");
    for section in definition.split("\n%files\n").skip(1) {
        let lines = section.lines().take_while(|line| line.starts_with("    "));
        lines.for_each(|line| name("apptainer.def", line.trim().split(' ').next().unwrap_or_default()));
    }
    let recipe = read("packaging/conda/recipe.yaml");
    for line in
        recipe.lines().skip_while(|line| *line != "  license_file:").filter_map(|line| line.strip_prefix("    - "))
    {
        // The build makes this one.
        if line != "THIRDPARTY.yml" {
            name("packaging/conda/recipe.yaml", line);
        }
    }
    let copied = read(&easybuild());
    let folders = copied.split("(['configs'").nth(1).and_then(|rest| rest.split(']').next()).expect("folders");
    folders.split('\'').skip(1).step_by(2).for_each(|word| name("packaging/easybuild", word));
    let release = read("packaging/release.sh");
    for line in release.lines().filter_map(|line| line.strip_prefix("cp ")).filter(|line| !line.starts_with('"')) {
        let words = line.split(' ').filter(|word| !word.starts_with(['-', '"']));
        words.for_each(|word| name("packaging/release.sh", word));
    }
    assert!(named.len() > 25, "names were not found: {named:?}");
    for (file, word) in named {
        assert!(root().join(&word).exists(), "{file} names {word}, which is not there");
    }
}

#[test]
fn features_that_packaging_asks_for_are_those_of_cargo() {
    let manifest = read("Cargo.toml");
    let features = manifest.split("[features]\n").nth(1).and_then(|rest| rest.split("\n\n").next()).expect("features");
    let known = |feature: &str| features.lines().any(|line| line.starts_with(&format!("{feature} = ")));
    let mut seen = 0;
    let files =
        ["packaging/container.sh", "packaging/conda/recipe.yaml", "packaging/release.sh", "docs/guides/install.md"];
    for file in files.map(str::to_owned).into_iter().chain([easybuild()]) {
        for rest in read(&file).split("--features ").skip(1) {
            let list = rest.split(|c: char| !c.is_alphanumeric() && c != ',').next().unwrap_or_default();
            for feature in list.split(',') {
                assert!(known(feature), "{file}: no feature {feature}");
                seen += 1;
            }
        }
    }
    assert!(seen > 6, "features were not found: {seen}");
}

#[test]
fn shellcheck_finds_nothing_in_packaging() {
    let scripts = ["packaging/container.sh", "packaging/release.sh"];
    match Command::new("shellcheck").args(scripts).current_dir(root()).output() {
        Ok(ran) => assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout)),
        Err(_) => println!("SKIPPED: no shellcheck to look through packaging"),
    }
}
