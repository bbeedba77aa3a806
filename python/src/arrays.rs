//! NumPy arrays as edges, weights and lists, and columns of results as NumPy arrays. Nothing is copied.
#![allow(unsafe_code)] // the memory of arrays is read through pointers, and columns are lent to arrays

use crate::errors;
use gpugraph::{Column, EdgeList, SuccessorList, Value, WeightType};
use numpy::ndarray::ArrayView1;
use numpy::{Element, PyArray1, PyArrayDescrMethods, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::prelude::*;
use std::ops::Deref;

/// The number types of arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    U32,
    I32,
    U64,
    I64,
    F32,
    F64,
}

impl Kind {
    fn bytes(self) -> isize {
        if matches!(self, Kind::U64 | Kind::I64 | Kind::F64) { 8 } else { 4 }
    }

    fn is_signed(self) -> bool {
        matches!(self, Kind::I32 | Kind::I64)
    }
}

/// An array with one dimension, which stays alive as long as this.
struct Strided {
    kind: Kind,
    start: *const u8,
    /// Bytes from one element to the next.
    step: isize,
    length: usize,
    _array: Py<PyUntypedArray>,
}

// SAFETY: the memory is only read, and the array is not touched by threads that do not hold Python's lock.
unsafe impl Send for Strided {}
// SAFETY: as above.
unsafe impl Sync for Strided {}

impl Strided {
    /// Looks at `array`, whose type must be one of `kinds`. The package has checked both; `what` is for the message if not.
    fn new(array: &Bound<'_, PyUntypedArray>, what: &str, kinds: &[Kind]) -> PyResult<Strided> {
        let py = array.py();
        let found = array.dtype();
        let is = |kind: &Kind| {
            found.is_equiv_to(&match kind {
                Kind::U32 => dtype::<u32>(py),
                Kind::I32 => dtype::<i32>(py),
                Kind::U64 => dtype::<u64>(py),
                Kind::I64 => dtype::<i64>(py),
                Kind::F32 => dtype::<f32>(py),
                Kind::F64 => dtype::<f64>(py),
            })
        };
        let (&[length], Some(kind)) = (array.shape(), kinds.iter().copied().find(is)) else {
            let (shape, kinds) = (array.shape(), format!("{kinds:?}").to_lowercase());
            return Err(errors::usage(
                py,
                &format!("{what}: expected one dimension and a dtype of {kinds}, found {found} of shape {shape:?}"),
            ));
        };
        // SAFETY: the pointer is that of a live array object.
        let start = unsafe { (*array.as_array_ptr()).data } as *const u8;
        Ok(Strided { kind, start, step: array.strides()[0], length, _array: array.clone().unbind() })
    }

    /// Returns the elements from `first` on, each widened by `widen`.
    ///
    /// # Safety
    /// `T` has the size of the array's elements, and every bit pattern is valid for it.
    unsafe fn elements<T: Copy>(&self, first: u64, count: usize) -> impl Iterator<Item = T> + '_ {
        assert!(first as usize + count <= self.length, "elements outside of an array");
        let start = self.start.wrapping_offset(first as isize * self.step);
        (0..count as isize).map(move |i| {
            // SAFETY: the element is in the array, which is alive. It may be unaligned.
            unsafe { start.wrapping_offset(i * self.step).cast::<T>().read_unaligned() }
        })
    }

    /// Calls `put` for the elements from `first` on, as unsigned numbers. Negative ones become 2^64 less themselves.
    fn each(&self, first: u64, count: usize, mut put: impl FnMut(usize, u64)) {
        // SAFETY: the type is that of the kind.
        unsafe {
            match self.kind {
                Kind::U32 => self.elements::<u32>(first, count).enumerate().for_each(|(i, x)| put(i, x.into())),
                Kind::I32 => self.elements::<i32>(first, count).enumerate().for_each(|(i, x)| put(i, x as i64 as u64)),
                Kind::U64 => self.elements::<u64>(first, count).enumerate().for_each(|(i, x)| put(i, x)),
                Kind::I64 => self.elements::<i64>(first, count).enumerate().for_each(|(i, x)| put(i, x as u64)),
                Kind::F32 => {
                    self.elements::<f32>(first, count).enumerate().for_each(|(i, x)| put(i, x.to_bits().into()))
                }
                Kind::F64 => self.elements::<f64>(first, count).enumerate().for_each(|(i, x)| put(i, x.to_bits())),
            }
        }
    }
}

/// Edges in arrays: their ends, and perhaps their weights.
pub struct Edges {
    ends: [Strided; 2],
    weights: Option<Strided>,
    /// Whether the ends lie side by side, as in an array of shape (m, 2).
    are_pairs: bool,
}

impl Edges {
    pub fn new(
        sources: &Bound<'_, PyUntypedArray>,
        targets: &Bound<'_, PyUntypedArray>,
        weights: Option<&Bound<'_, PyUntypedArray>>,
    ) -> PyResult<Edges> {
        let kinds = [Kind::U32, Kind::I32, Kind::U64, Kind::I64];
        let ends = [Strided::new(sources, "sources", &kinds)?, Strided::new(targets, "targets", &kinds)?];
        let kinds = [Kind::U32, Kind::U64, Kind::F32, Kind::F64];
        let weights = weights.map(|weights| Strided::new(weights, "weights", &kinds)).transpose()?;
        let lengths = [ends[1].length, weights.as_ref().map_or(ends[0].length, |weights| weights.length)];
        if let Some(other) = lengths.iter().find(|&&length| length != ends[0].length) {
            let why = format!("expected arrays of one length, found {} and {other}", ends[0].length);
            return Err(errors::usage(sources.py(), &why));
        }
        let [u, v] = &ends;
        let are_pairs = u.kind == v.kind
            && [u.step, v.step] == [2 * u.kind.bytes(); 2]
            && v.start == u.start.wrapping_offset(u.kind.bytes());
        Ok(Edges { ends, weights, are_pairs })
    }

    /// Copies pairs that lie side by side.
    ///
    /// # Safety
    /// `are_pairs` holds, and `T` has the size of the elements.
    unsafe fn copy<T>(&self, first: u64, out: &mut [[T; 2]]) {
        let [u, _] = &self.ends;
        assert!(first as usize + out.len() <= u.length, "edges outside of an array");
        let from = u.start.wrapping_add(first as usize * size_of::<[T; 2]>());
        // SAFETY: so many pairs lie there, and `out` is another memory.
        unsafe { std::ptr::copy_nonoverlapping(from, out.as_mut_ptr().cast::<u8>(), size_of_val(out)) };
    }
}

impl EdgeList for Edges {
    fn edges(&self) -> u64 {
        self.ends[0].length as u64
    }

    fn is_signed(&self) -> bool {
        // The package passes ends of which none or both have a sign.
        self.ends.iter().any(|ends| ends.kind.is_signed())
    }

    fn read(&self, first: u64, out: &mut [[u64; 2]]) {
        if self.are_pairs && self.ends[0].kind.bytes() == 8 {
            // SAFETY: just checked.
            return unsafe { self.copy(first, out) };
        }
        let count = out.len();
        self.ends.iter().enumerate().for_each(|(end, ids)| ids.each(first, count, |i, id| out[i][end] = id));
    }

    fn read_narrow(&self, first: u64, out: &mut [[u32; 2]]) {
        if self.are_pairs && self.ends[0].kind.bytes() == 4 {
            // SAFETY: just checked.
            return unsafe { self.copy(first, out) };
        }
        let count = out.len();
        self.ends.iter().enumerate().for_each(|(end, ids)| ids.each(first, count, |i, id| out[i][end] = id as u32));
    }

    fn weights(&self) -> Option<WeightType> {
        Some(match self.weights.as_ref()?.kind {
            Kind::F32 => WeightType::F32,
            Kind::F64 => WeightType::F64,
            Kind::U64 => WeightType::U64,
            _ => WeightType::U32,
        })
    }

    fn read_weights(&self, first: u64, out: &mut [u32]) {
        let Some(weights) = &self.weights else { return };
        if weights.kind.bytes() == 4 {
            return weights.each(first, out.len(), |i, bits| out[i] = bits as u32);
        }
        weights.each(first, out.len() / 2, |i, bits| [out[2 * i], out[2 * i + 1]] = [bits as u32, (bits >> 32) as u32]);
    }
}

/// A linked list in an array.
pub struct Successors(Strided);

impl Successors {
    pub fn new(array: &Bound<'_, PyUntypedArray>) -> PyResult<Successors> {
        Strided::new(array, "successors", &[Kind::I32, Kind::I64]).map(Successors)
    }
}

impl SuccessorList for Successors {
    fn elements(&self) -> u64 {
        self.0.length as u64
    }

    fn read(&self, first: u64, out: &mut [i64]) {
        self.0.each(first, out.len(), |i, next| out[i] = next as i64);
    }
}

/// Keeps the memory of an array alive.
#[pyclass(frozen)]
struct Owner(#[allow(dead_code)] Box<dyn std::any::Any + Send + Sync>);

/// Returns an array of the values of `owner`, without a copy. It can't be written to.
pub fn lent<'py, T, O>(py: Python<'py>, owner: O) -> PyResult<Bound<'py, PyAny>>
where
    T: Element,
    O: Deref<Target = [T]> + Send + Sync + 'static,
{
    let values: *const [T] = &raw const *owner;
    let owner = Bound::new(py, Owner(Box::new(owner)))?;
    // SAFETY: columns and ids are handles of memory that does not move, and `owner` keeps one.
    let view = ArrayView1::from(unsafe { &*values });
    // SAFETY: the array keeps `owner`.
    let array = unsafe { PyArray1::borrow_from_array(&view, owner.into_any()) }.into_any();
    array.getattr("flags")?.setattr("writeable", false)?;
    Ok(array)
}

/// Returns a column of results as an array.
pub fn of_column<'py, T>(py: Python<'py>, column: &Column<T>) -> PyResult<Bound<'py, PyAny>>
where
    T: Element + Value + Sync + 'static,
{
    lent(py, column.clone())
}
