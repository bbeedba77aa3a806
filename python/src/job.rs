//! The class `Job`.

use crate::calls;
use crate::errors;
use pyo3::prelude::*;
use std::path::PathBuf;

/// A job from a file or a text.
#[pyclass(frozen, module = "gpugraph._gpugraph")]
pub struct Job(gpugraph::Job);

#[pymethods]
impl Job {
    /// `set` are keys and values as `--set` takes them.
    #[new]
    fn new(
        py: Python<'_>,
        file: Option<PathBuf>,
        text: Option<String>,
        set: Vec<(String, String)>,
        fresh: bool,
        wait: bool,
    ) -> PyResult<Job> {
        let builder = match file {
            Some(file) => gpugraph::Job::from_file(file),
            None => gpugraph::Job::from_toml(text.unwrap_or_default()),
        };
        let builder = set.iter().fold(builder, |builder, (key, value)| builder.set(key, value));
        builder.fresh(fresh).wait(wait).build().map(Job).map_err(|e| errors::exception(py, &e))
    }

    fn workdir(&self) -> PathBuf {
        self.0.workdir().to_owned()
    }

    /// Runs the job, and returns `report.json` and the answers as text.
    fn run(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let report = calls::call(py, Some(&self.0.canceller()), None, || self.0.run())?;
        Ok((report.to_json(), report.to_string()))
    }

    /// Plans the job: host memory that it needs, disk, seconds, JSON, and text.
    fn plan(&self, py: Python<'_>) -> PyResult<(u64, u64, f64, String, String)> {
        let plan = calls::call(py, None, None, || self.0.plan())?;
        Ok((plan.host_memory_needed(), plan.disk(), plan.seconds(), plan.to_json(), plan.to_string()))
    }

    /// Raises an exception if the job does not fit its limits or the disk.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        calls::call(py, None, None, || self.0.plan()?.check())
    }

    /// How far the job is: whether it runs, whether it is finished, JSON, and text.
    fn status(&self, py: Python<'_>) -> PyResult<(bool, bool, String, String)> {
        let status = py.detach(|| self.0.status()).map_err(|e| errors::exception(py, &e))?;
        Ok((status.is_running(), status.is_finished(), status.to_json(), status.to_string()))
    }
}
