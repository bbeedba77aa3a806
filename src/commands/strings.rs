//! `gpugraph convert --ids string`: numbers the strings of an input, and writes them next to the output.

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

/// The numbers of the strings of an input, in a temporary folder.
pub(super) struct Numbered {
    names: Arc<Names>,
    folder: TemporaryFolder,
}

/// Returns the path of the list of strings that belongs to `output`.
fn list_of(output: &Path) -> PathBuf {
    let mut path = output.to_owned();
    path.as_mut_os_string().push(".ids.txt");
    path
}

impl Numbered {
    /// Reads `input` once and numbers its strings, in a folder next to `output`.
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

    /// Returns the input with numbers as ids.
    pub fn input(&self, input: Input) -> Input {
        input.with_numbering(self.names.clone())
    }

    /// Writes the list of strings next to `output`, to a file with `.ids.txt` appended to its name.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write_list(&self, output: &Path) -> Result<()> {
        let (path, temporary) = (list_of(output), self.folder.path().join("list"));
        let write = || -> std::io::Result<()> {
            let mut file = regular::create(&temporary)?;
            file.write_all(self.names.list().lines().text())?;
            // Not by `sync_file`, because the list leaves the temporary folder.
            file.sync_all()?;
            std::fs::rename(&temporary, &path)
        };
        write().map_err(|e| Error::io("write the file", &path, e))?;
        sync_folder(&path)
    }
}
