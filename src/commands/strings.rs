//! `gpugraph convert --ids string`: replaces string ids by dense ids, and lists the strings next to the output.

use super::shown;
use crate::convert;
use crate::error::{Error, Result};
use crate::formats::Input;
use crate::memory::Budget;
use crate::prepare::names::Names;
use crate::store::durable::{TemporaryFolder, sync_folder};
use crate::store::regular;
use crate::store::replace::make_folder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Dictionary that maps the string ids of an input to dense ids, in a temporary folder.
pub(super) struct Numbered {
    names: Arc<Names>,
    folder: TemporaryFolder,
}

/// Returns the path of the list of strings that belongs to the output file `output`: `OUTPUT.ids.txt`.
fn list_of(output: &Path) -> PathBuf {
    let mut path = output.to_owned();
    path.as_mut_os_string().push(".ids.txt");
    path
}

impl Numbered {
    /// Reads `input` once and builds the dictionary of its string ids, in a temporary folder next to `output`.
    ///
    /// # Errors
    /// Errors of the input and of the disk.
    pub fn new(input: &Input, output: &Path, threads: usize) -> Result<Numbered> {
        convert::writable(&list_of(output))?;
        convert::refuse_overlap(input, &list_of(output))?;
        let parent = output.parent().unwrap_or(Path::new(""));
        make_folder(parent)?;
        let folder = TemporaryFolder::new(parent)?;
        let budget = Budget::new(convert::MEMORY + input.scratch_bytes(threads), threads)?;
        let _files =
            shown("number", input.bytes(), |watch| Names::build(input, folder.path(), 0, threads, &budget, watch))?;
        let names = Arc::new(Names::open(folder.path(), 0, input.name())?);
        Ok(Numbered { names, folder })
    }

    /// Returns `input` with its string ids replaced by dense ids.
    pub fn input(&self, input: Input) -> Input {
        input.with_numbering(self.names.clone())
    }

    /// Writes the list of strings next to the output file `output`, as `OUTPUT.ids.txt`. Line `i` (0-based) contains
    /// the string of dense id `i`.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write_list(&self, output: &Path) -> Result<()> {
        let (path, temporary) = (list_of(output), self.folder.path().join("list"));
        let write = || -> std::io::Result<()> {
            let mut file = regular::create(&temporary)?;
            file.write_all(self.names.list().lines().text())?;
            // Don't use `sync_file`, which skips files in temporary folders: this file is moved out.
            file.sync_all()?;
            std::fs::rename(&temporary, &path)
        };
        write().map_err(|e| Error::io("write the file", &path, e))?;
        sync_folder(&path)
    }
}
