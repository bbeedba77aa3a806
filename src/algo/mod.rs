//! The algorithms: one folder each, from the driver down to the kernels of each backend.

pub mod triangle;
