//! Columns: numbers in bytes that numpy takes as they are.

use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// A number that numpy has a type for, in this machine's order of bytes.
pub(crate) trait Number: Copy {
    /// numpy's word for the type.
    const DTYPE: &'static str;
    /// Put the number into as many bytes as it has.
    fn write(self, place: &mut [u8]);
}

macro_rules! numbers {
    ($($number:ty: $dtype:literal),+) => {
        $(impl Number for $number {
            const DTYPE: &'static str = $dtype;
            fn write(self, place: &mut [u8]) {
                place.copy_from_slice(&self.to_ne_bytes());
            }
        })+
    };
}

numbers!(u8: "u1", u16: "u2", u32: "u4", u64: "u8", f64: "f8");

impl Number for bool {
    const DTYPE: &'static str = "?";
    fn write(self, place: &mut [u8]) {
        place[0] = u8::from(self);
    }
}

/// An array of numpy, writable. A `bytearray` holds its numbers: numpy's own C interface would
/// need a crate whose dependencies take a twelfth of the compiling.
pub(crate) fn array<T: Number>(
    py: Python<'_>,
    numbers: impl ExactSizeIterator<Item = T>,
) -> PyResult<Bound<'_, PyAny>> {
    let bytes = PyByteArray::new_with(py, numbers.len() * size_of::<T>(), |bytes| {
        for (place, number) in bytes.chunks_exact_mut(size_of::<T>()).zip(numbers) {
            number.write(place);
        }
        Ok(())
    })?;
    py.import("numpy")?.call_method1("frombuffer", (bytes, T::DTYPE))
}
