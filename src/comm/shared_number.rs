//! Trait for numbers in shared memory that several processes may read and write concurrently.
#![allow(unsafe_code)] // the trait promises properties that the compiler can't check

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Atomic number type that may be placed in memory shared by several processes.
///
/// # Safety
/// Every bit pattern must be a value of the type, and all access to it must be atomic.
pub unsafe trait SharedNumber: Send + Sync {}

// SAFETY: an atomic integer.
unsafe impl SharedNumber for AtomicU8 {}
// SAFETY: as above.
unsafe impl SharedNumber for AtomicU32 {}
// SAFETY: as above.
unsafe impl SharedNumber for AtomicU64 {}
