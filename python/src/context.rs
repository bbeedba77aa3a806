//! The class `Context`.

use crate::calls::{self, Latest, ProgressFunction};
use crate::errors;
use crate::process::OfProcess;
use gpugraph::{Canceller, Device, Size};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// A number of bytes, or text such as `8GiB`.
#[derive(FromPyObject)]
pub enum Bytes {
    Number(u64),
    Text(String),
}

impl Bytes {
    fn size(self) -> gpugraph::Result<Size> {
        match self {
            Bytes::Number(bytes) => Ok(Size(bytes)),
            Bytes::Text(text) => text.parse(),
        }
    }
}

/// Limits, device and folder of calls.
#[pyclass(frozen, module = "gpugraph._gpugraph")]
pub struct Context {
    context: OfProcess<gpugraph::Context>,
    progress: Option<ProgressFunction>,
}

#[pymethods]
impl Context {
    #[new]
    #[pyo3(signature = (host_memory, gpu_memory, threads, device, gpu, temporary_folder, progress))]
    #[allow(clippy::too_many_arguments)] // they are those of the class that Python users see
    fn new(
        py: Python<'_>,
        host_memory: Option<Bytes>,
        gpu_memory: Option<Bytes>,
        threads: usize,
        device: &str,
        gpu: Option<u32>,
        temporary_folder: Option<PathBuf>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Context> {
        let device = match device {
            "auto" => Device::Auto,
            "cpu" => Device::Cpu,
            "gpu" => Device::Gpu,
            other => {
                let why = format!("device: expected \"auto\", \"cpu\" or \"gpu\", found {other:?}");
                return Err(errors::usage(py, &why));
            }
        };
        let latest = Latest::default();
        let built = || {
            let mut builder = gpugraph::Context::builder().threads(threads).device(device);
            if let Some(bytes) = host_memory {
                builder = builder.host_memory(bytes.size()?);
            }
            if let Some(bytes) = gpu_memory {
                builder = builder.gpu_memory(bytes.size()?);
            }
            if let Some(gpu) = gpu {
                builder = builder.gpu(gpu);
            }
            if let Some(folder) = temporary_folder {
                builder = builder.temporary_folder(folder);
            }
            if progress.is_some() {
                let latest = Arc::clone(&latest);
                builder = builder.on_progress(move |now| {
                    let now = (now.stage.to_owned(), now.done, now.total);
                    *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                });
            }
            builder.build()
        };
        let context = OfProcess::new(built().map_err(|e| errors::exception(py, &e))?);
        let progress = progress.map(|function| ProgressFunction { function, latest });
        Ok(Context { context, progress })
    }
}

impl Context {
    pub fn context(&self) -> &gpugraph::Context {
        &self.context
    }

    /// Does the work of a call with this context.
    pub fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&gpugraph::Context) -> gpugraph::Result<T> + Send,
    ) -> PyResult<T> {
        let context = self.context();
        let canceller: Canceller = context.canceller();
        calls::call(py, Some(&canceller), self.progress.as_ref(), || work(context))
    }
}
