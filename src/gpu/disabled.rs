//! Built without the feature `gpu`.

use super::Cuda;

pub fn probe() -> Cuda {
    let missing = vec!["this gpugraph was built without GPU support: build it with --features gpu".to_owned()];
    Cuda { driver: None, nvrtc: false, gpus: Vec::new(), missing }
}
