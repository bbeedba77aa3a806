//! Trait for numbers that several processes may read and write at once.
#![allow(unsafe_code)] // states what a type must be

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// An atomic number that several processes may read and write.
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
