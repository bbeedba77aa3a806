//! `gpugraph report`: recreates the report of a job, or compares several jobs.

use super::cli::ReportArgs;
use crate::chart::{Table, draw};
use crate::error::{Error, Result};
use crate::job::html::{self, compare, page::Page};
use crate::stdout;
use crate::store::replace::{make_folder, replace_volatile, target};
use std::path::{Path, PathBuf};

/// `gpugraph report`: writes the report as HTML, or prints it as JSON or CSV.
///
/// # Errors
/// [`Error::Usage`] for a folder that is not the workdir of a job, or an output that is not a regular file;
/// [`Error::Io`]; [`Error::DiskFull`].
pub fn report(args: &ReportArgs) -> Result<()> {
    let (page, place) = match args.workdirs.as_slice() {
        [workdir] => (html::page(workdir)?, Some(workdir.join(html::FILE))),
        several => (compare::page(several)?, None),
    };
    if args.json {
        let text = serde_json::to_string_pretty(&page).map_err(|e| Error::internal("write the report as JSON", e))?;
        return stdout::print(text);
    }
    if args.csv {
        return stdout::print(csv(&page, args.workdirs.len()));
    }
    if let Some(folder) = &args.svg {
        return pictures(&page, folder);
    }
    let place: PathBuf = match (&args.output, place) {
        (Some(output), _) if output == Path::new("-") => return stdout::print(html::html(&page)),
        (Some(output), _) => target(output)?,
        (None, Some(place)) => place,
        (None, None) => {
            let what = "a comparison of several workdirs needs an output: name it with -o FILE, or add --csv or --json";
            return Err(Error::Usage(what.into()));
        }
    };
    let written = replace_volatile(&place, html::html(&page).as_bytes());
    written.map_err(|e| if args.output.is_some() { e.of_output() } else { e })?;
    stdout::print(place.display().to_string())
}

/// Writes each chart to its own SVG file in `folder`, named after its section and title, and prints the paths.
fn pictures(page: &Page, folder: &Path) -> Result<()> {
    make_folder(folder)?;
    let mut names: Vec<String> = Vec::new();
    for section in &page.sections {
        for figure in section.figures.iter().filter(|figure| !figure.is_empty()) {
            let title = format!("{} {}", section.title, figure.title).to_lowercase();
            let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            let name = words.take(12).collect::<Vec<_>>().join("-");
            let alike = names.iter().filter(|other| **other == name).count();
            let file = if alike == 0 { format!("{name}.svg") } else { format!("{name}-{}.svg", alike + 1) };
            replace_volatile(&folder.join(&file), draw::file(figure).as_bytes())?;
            names.push(name);
            stdout::print(folder.join(file).display().to_string())?;
        }
    }
    Ok(())
}

/// Returns the tables of `page` as CSV. If `page` compares several workdirs, the tables of its first section are
/// joined side by side, because each of them has one row per workdir.
fn csv(page: &Page, workdirs: usize) -> String {
    match page.sections.first().filter(|_| workdirs > 1) {
        Some(section) => Table::side_by_side(section.tables.iter().map(|(_, table)| table)).csv(),
        None => page.csv(),
    }
}
