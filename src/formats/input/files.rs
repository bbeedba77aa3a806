//! Finds the files that the paths of an input name: files, folders and patterns.
//!
//! The files of a folder or pattern are in the order of their paths, compared component by component and byte by byte.
//! The checksum of an input depends on this order. Some files are skipped without a message, because by convention they
//! contain no edges: files whose names begin with `.` (in folders also with `_`), Graph500's `.weights`, and folders to
//! which gpugraph writes.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use walkdir::{DirEntry, WalkDir};

use crate::error::{At, Error, Result};

/// Options of the search for the files in a folder.
#[derive(Clone, Copy)]
pub struct FileSearch<'a> {
    /// Whether subfolders are searched, too. If not, a folder with subfolders is rejected.
    pub recursive: bool,
    /// Callback that returns true for a folder that is never part of an input, because gpugraph writes to it.
    pub own: &'a dyn Fn(&Path) -> bool,
}

impl Default for FileSearch<'_> {
    fn default() -> Self {
        FileSearch { recursive: false, own: &|_| false }
    }
}

/// Characters that make a path a pattern.
const WILD: [char; 4] = ['*', '?', '[', '{'];

/// Returns the files that one path of an input names; at least one.
///
/// # Errors
/// Bad input if a folder or pattern has no files, if a folder can't be read or has subfolders although `look` excludes
/// them, and if links form a cycle.
pub(crate) fn named(path: &Path, look: FileSearch<'_>) -> Result<Vec<PathBuf>> {
    if path.is_dir() {
        let files = in_folder(path, look)?;
        if files.is_empty() {
            let remedy = "name the folder that holds the part files";
            return Err(Error::input(path, At::File, "a folder with files", "none in it", remedy));
        }
        return Ok(files);
    }
    if !is_pattern(path) {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = of_pattern(path, look)?;
    if files.is_empty() {
        let remedy = "check the pattern (in a name * is any characters, ? is one, ** between slashes any folders)";
        return Err(Error::input(path, At::File, "files of this pattern", "none", remedy));
    }
    files.sort();
    files.dedup();
    Ok(files)
}

/// Returns the name of an input with these paths, for messages.
///
/// # Errors
/// [`Error::Usage`] if there is no path.
pub(super) fn name_of(paths: &[PathBuf]) -> Result<String> {
    match paths {
        [] => Err(Error::Usage("an input needs at least one path".into())),
        [one] => Ok(one.display().to_string()),
        [first, more @ ..] => Ok(format!("{} and {} more", first.display(), more.len())),
    }
}

/// Returns true if `path` is a pattern and not the name of an existing file.
pub(crate) fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(WILD) && path.symlink_metadata().is_err()
}

/// Returns true if the pattern matches `file`. Both paths are absolute.
fn matches(pattern: &Path, file: &Path) -> bool {
    pattern.to_str().and_then(|pattern| glob(pattern).ok()).is_some_and(|glob| glob.is_match(file))
}

/// Returns the first of `paths` that is a folder or a pattern and includes `file`, which need not exist.
pub(super) fn covering<'a>(paths: &'a [PathBuf], file: &Path) -> Option<&'a Path> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().ok()?;
    let file = folder.join(file.file_name()?);
    let covers = |path: &&PathBuf| {
        if is_pattern(path) {
            return std::path::absolute(path).is_ok_and(|pattern| matches(&pattern, &file));
        }
        path.is_dir() && path.canonicalize().is_ok_and(|path| folder.starts_with(path))
    };
    paths.iter().find(covers).map(PathBuf::as_path)
}

fn glob(pattern: &str) -> Result<GlobMatcher, globset::Error> {
    GlobBuilder::new(pattern).literal_separator(true).build().map(|glob| glob.compile_matcher())
}

/// Returns all files of a folder, sorted.
fn in_folder(folder: &Path, look: FileSearch<'_>) -> Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    let depth = if look.recursive { usize::MAX } else { 1 };
    let wanted = |entry: &DirEntry| entry.depth() == 0 || !(is_ignored(entry) || is_own(entry, look));
    let entries = WalkDir::new(folder).min_depth(1).max_depth(depth).follow_links(true);
    for entry in entries.into_iter().filter_entry(wanted) {
        match entry {
            Ok(entry) if !entry.file_type().is_dir() => files.push(entry.into_path()),
            Ok(entry) if !look.recursive => folders.push(entry.into_path()),
            Ok(_) => {}
            Err(e) => files.extend(dangling(folder, e)?),
        }
    }
    if !folders.is_empty() {
        return Err(with_subfolders(folder, "a folder of files alone", folders));
    }
    files.sort();
    Ok(files)
}

/// Returns true for a file or folder that by convention contains no edges: `.NAME`, `_NAME` and `NAME.weights`.
fn is_ignored(entry: &DirEntry) -> bool {
    let name = entry.file_name().as_encoded_bytes();
    name.starts_with(b".") || name.starts_with(b"_") || name.ends_with(b".weights")
}

fn is_own(entry: &DirEntry, look: FileSearch<'_>) -> bool {
    entry.file_type().is_dir() && (look.own)(entry.path())
}

/// Handles the error `e` about a file or folder that can't be examined. Returns the path if it is a dangling link,
/// because opening the link later reports the error. Otherwise returns an error.
fn dangling(folder: &Path, e: walkdir::Error) -> Result<Option<PathBuf>> {
    let path = e.path().unwrap_or(folder).to_owned();
    if let Some(ancestor) = e.loop_ancestor() {
        let found = format!("a link back to {}", ancestor.display());
        let remedy = "remove the link, or name the folders alone";
        return Err(Error::input(&path, At::File, "a folder below", found, remedy));
    }
    match e.into_io_error() {
        Some(_) if path.is_symlink() => Ok(Some(path)),
        Some(e) => Err(Error::unreadable(&path, &e)),
        None => Err(Error::input(&path, At::File, "a readable folder", "none", "check the path")),
    }
}

fn with_subfolders(named: &Path, expected: &str, mut folders: Vec<PathBuf>) -> Error {
    folders.sort();
    let first = folders[0].file_name().unwrap_or_default().to_string_lossy().into_owned();
    let found = match folders.len() {
        1 => format!("1 subfolder ({first})"),
        n => format!("{n} subfolders ({first} is the first)"),
    };
    let remedy = "set recursive = true in [input] (convert: --recursive) to read what is in them, too, or name the files by a pattern \
                  such as FOLDER/*.txt";
    Error::input(named, At::File, expected, found, remedy)
}

/// Returns the files that match a pattern. The search proceeds component by component, and descends only into names
/// that match.
fn of_pattern(path: &Path, look: FileSearch<'_>) -> Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    let mut below = false;
    let parts: Vec<Component<'_>> = path.components().collect();
    for (number, part) in parts.iter().enumerate() {
        let last = number + 1 == parts.len();
        let name = part.as_os_str();
        let text = name.to_string_lossy();
        if !text.contains(WILD) {
            found.iter_mut().for_each(|path| path.push(name));
            found.retain(|path| path.symlink_metadata().is_ok());
        } else if text == "**" {
            below = true;
            found = found.iter().map(|folder| all_below(folder, last, look)).collect::<Result<Vec<_>>>()?.concat();
            found.sort();
            found.dedup();
        } else {
            let fits = glob(&text).map_err(|e| {
                let remedy = "put [ ] around a character that is meant as it is";
                Error::input(path, At::File, "a pattern", e.kind().to_string(), remedy)
            })?;
            let lists = found.iter().map(|folder| fitting(folder, &text, &fits, last));
            found = lists.collect::<Result<Vec<_>>>()?.concat();
        }
    }
    // A matching folder is ignored only if the pattern also covers its contents.
    let (folders, mut files): (Vec<_>, Vec<_>) = found.into_iter().partition(|path| path.is_dir());
    let folders: Vec<_> = folders.into_iter().filter(|folder| !below && !(look.own)(folder)).collect();
    if !look.recursive && !folders.is_empty() {
        return Err(with_subfolders(path, "a pattern of files alone", folders));
    }
    for folder in folders {
        files.extend(in_folder(&folder, look)?);
    }
    Ok(files)
}

/// Returns the paths in `folder` whose names match one component of a pattern. If this is not the last component
/// (`last`), returns only folders.
fn fitting(folder: &Path, pattern: &str, fits: &GlobMatcher, last: bool) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    if !folder.as_os_str().is_empty() && !folder.is_dir() {
        return Ok(paths);
    }
    let open = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    for entry in std::fs::read_dir(open).map_err(|e| Error::unreadable(open, &e))? {
        let name = entry.map_err(|e| Error::unreadable(open, &e))?.file_name();
        let bytes = name.as_encoded_bytes();
        let hidden = bytes.starts_with(b".") && !pattern.starts_with('.');
        let aside = bytes.ends_with(b".weights") && !pattern.ends_with(".weights");
        if !hidden && !aside && fits.is_match(Path::new(&name)) && (last || folder.join(&name).is_dir()) {
            paths.push(folder.join(&name));
        }
    }
    Ok(paths)
}

/// Returns `folder` and all folders below it, or all files below it if `**` is the last component of the pattern.
fn all_below(folder: &Path, last: bool, look: FileSearch<'_>) -> Result<Vec<PathBuf>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if !here.is_dir() {
        return Ok(Vec::new());
    }
    if last {
        return in_folder(here, FileSearch { recursive: true, ..look });
    }
    let mut paths = Vec::new();
    let wanted = |entry: &DirEntry| entry.depth() == 0 || !(is_ignored(entry) || is_own(entry, look));
    for entry in WalkDir::new(here).follow_links(true).into_iter().filter_entry(wanted) {
        match entry {
            Ok(entry) if entry.file_type().is_dir() => paths.push(entry.into_path()),
            Ok(_) => {}
            // The error is reported when the folder is listed.
            Err(e) => drop(dangling(here, e)?),
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Input;

    #[test]
    fn folders_patterns_and_lists() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["b.txt", "a.txt", ".hidden", "_SUCCESS", "c.txt.gz", "d.graph500.weights"] {
            std::fs::write(path(name), "1 2\n").unwrap();
        }
        let names = |paths: &[PathBuf]| -> Vec<String> {
            let input = Input::find(paths, None, FileSearch::default()).unwrap();
            input.parts().iter().map(|p| p.path().file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&[folder.path().to_owned()]), ["a.txt", "b.txt", "c.txt.gz"]);
        assert_eq!(names(&[path("?.txt")]), ["a.txt", "b.txt"]);
        assert_eq!(names(&[path("b.txt"), path("a*")]), ["b.txt", "a.txt"]);
        std::fs::create_dir(path("within")).unwrap();
        for bad in ["none.txt", "x*.txt", "within", "b.dat"] {
            let error = Input::find(&[path(bad)], None, FileSearch::default()).unwrap_err();
            assert_eq!(error.exit_code(), 3, "{error}");
            assert!(error.to_string().contains(bad), "{error}");
        }
        assert_eq!(Input::find(&[path("a.txt")], None, FileSearch::default()).unwrap().bytes(), 4);
    }
}
