//! Job arrays of Slurm and PBS. The index of each task replaces `%a` in the job file's name, in `--set` and in the
//! workdir.

use crate::commands::cli::Scheduler;
use crate::config::{self, Job};
use crate::error::{Error, Result};
use std::path::{Path, PathBuf};

/// A job array, described by the indices of its first and its last task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JobArray {
    first: u64,
    last: u64,
}

impl JobArray {
    /// Returns the job array that the scheduler options request; `None` if they request no array.
    pub fn of(options: &[String], scheduler: Scheduler) -> Option<JobArray> {
        let mut options = options.iter();
        while let Some(option) = options.next() {
            let spec = match scheduler {
                Scheduler::Slurm if option.starts_with("--ar") => option.split_once('=').map(|(_, spec)| spec),
                Scheduler::Slurm => match option.strip_prefix("-a") {
                    Some(spec) => Some(spec).filter(|spec| !spec.is_empty()),
                    None => continue,
                },
                Scheduler::Pbs => match option.strip_prefix("-J").or_else(|| option.strip_prefix("-t")) {
                    Some(spec) => Some(spec).filter(|spec| !spec.is_empty()),
                    None => continue,
                },
            };
            let spec = spec.or_else(|| options.next().map(String::as_str)).unwrap_or_default();
            // `%` precedes the maximum number of concurrent tasks, `:` precedes the step.
            let ends = spec.split('%').next().unwrap_or_default().split(',').filter_map(|part| {
                let range = part.split(':').next().unwrap_or_default();
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                Some((first.parse().ok()?, last.parse().ok()?))
            });
            let ends: Vec<(u64, u64)> = ends.collect();
            // Ignore an invalid list, because the scheduler will report it.
            let (first, last) =
                (ends.first().map_or(0, |ends| ends.0), ends.iter().map(|ends| ends.1).max().unwrap_or(1));
            return Some(JobArray { first, last });
        }
        None
    }

    /// Loads the job of the first task. Its `workdir` still contains `%a`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the first and the last task have the same workdir, and the errors of [`config::load`].
    pub fn load(self, path: &Path, set: &[String]) -> Result<Job> {
        let load = |task| {
            let set: Vec<String> = set.iter().map(|set| with(set, task)).collect();
            let job = config::load(&numbered(path, task), &set)?;
            let workdir = numbered(&job.workdir, task);
            Ok::<_, Error>((job, workdir))
        };
        let (job, workdir) = load(self.first)?;
        if self.first != self.last && workdir == load(self.last)?.1 {
            return Err(Error::Usage(format!(
                "an array needs a workdir for each task, and all would use {}: set it with --set job.workdir=work/%a, where %a is the \
                 number of the task",
                workdir.display()
            )));
        }
        Ok(job)
    }

    /// Replaces `%a` in `text` with the index of the first task.
    pub fn text(self, text: &str) -> String {
        with(text, self.first)
    }

    /// Replaces `%a` in `path` with the index of the first task.
    pub fn path(self, path: &Path) -> PathBuf {
        numbered(path, self.first)
    }
}

fn with(text: &str, task: u64) -> String {
    text.replace("%a", &task.to_string())
}

fn numbered(path: &Path, task: u64) -> PathBuf {
    path.to_str().map_or_else(|| path.to_owned(), |text| with(text, task).into())
}

/// Returns an override of `job.workdir` (`--set`) if the job file sets a workdir with `%a`; `None` for other workdirs.
/// The override is needed because a job script replaces `%a` only in overrides.
pub(super) fn workdir_set(workdir: &Path) -> Option<String> {
    let text = workdir.to_str().filter(|text| text.contains("%a"))?;
    // The value is a TOML string, in which `$$` is a `$` that does not start a variable.
    let text = text.replace('\\', r"\\").replace('"', "\\\"").replace('$', "$$");
    Some(format!("job.workdir=\"{text}\""))
}

/// Returns the innermost folder of `path` that all tasks of the array share: the longest leading part of the path
/// without `%a`.
pub(super) fn shared(path: &Path) -> &Path {
    path.ancestors().find(|path| !path.to_string_lossy().contains("%a")).unwrap_or(Path::new(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_found_among_the_options_of_both_schedulers() {
        let array = |line: &str, scheduler| {
            let options: Vec<String> = line.split(' ').map(str::to_owned).collect();
            JobArray::of(&options, scheduler).map(|array| (array.first, array.last))
        };
        for (line, found) in [
            ("--array=0-9", Some((0, 9))),
            ("--partition=gpu --array 3-7:2%2", Some((3, 7))),
            ("-a 1,5,9-12", Some((1, 12))),
            ("-a4", Some((4, 4))),
            ("-a 0-9,0", Some((0, 9))),
            ("--account=x -A x --time=1-0", None),
        ] {
            assert_eq!(array(line, Scheduler::Slurm), found, "{line}");
        }
        for (line, found) in [("-J 0-9", Some((0, 9))), ("-P x -t2-4%2", Some((2, 4))), ("-P x -q gpu", None)] {
            assert_eq!(array(line, Scheduler::Pbs), found, "{line}");
        }
    }

    #[test]
    fn the_script_of_an_array_is_in_a_folder_that_all_tasks_share() {
        for (path, found) in [("work/%a", "work"), ("a/%a/b", "a"), ("w%a", ""), ("/x/y%a", "/x")] {
            assert_eq!(shared(Path::new(path)), Path::new(found));
        }
    }
}
