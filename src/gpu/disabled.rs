//! Built without the feature `gpu`: no device can be opened, so nothing behind it is ever called.

use super::Cuda;
use crate::error::{Error, Result};

pub fn probe() -> Cuda {
    let missing = vec!["this gpugraph was built without GPU support: build it with --features gpu".to_owned()];
    Cuda { driver: None, nvrtc: false, nvrtc_version: None, kernels: None, gpus: Vec::new(), missing }
}

pub fn free_memory(_: u32) -> Result<u64, String> {
    Err("built without GPU support".into())
}
