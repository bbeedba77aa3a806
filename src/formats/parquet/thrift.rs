//! Parses Thrift's compact protocol, as far as Parquet's page headers and footers need it:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Type codes of the fields in Thrift's compact protocol.
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
const BYTE: u8 = 3;
const INT16: u8 = 4;
pub(super) const INT32: u8 = 5;
const INT64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
pub(super) const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;

/// Maximum nesting depth of skipped structs and lists.
const DEPTH: u8 = 16;

/// Parser of the compact protocol. Its methods return `None` at the end of the bytes, and for bytes that violate the
/// protocol.
pub(super) struct Compact<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Compact<'a> {
    pub fn new(bytes: &'a [u8]) -> Compact<'a> {
        Compact { bytes, at: 0 }
    }

    /// Returns the number of bytes parsed so far.
    pub fn at(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Parses an unsigned number of at most 64 bits.
    pub fn unsigned(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let zigzag = self.unsigned()?;
        Some((zigzag >> 1).cast_signed() ^ -((zigzag & 1).cast_signed()))
    }

    /// Parses a signed 32-bit number.
    pub fn int32(&mut self) -> Option<i32> {
        self.signed()?.try_into().ok()
    }

    /// Calls `take` with the id and the type code of every field of a struct. `take` parses the field, or returns
    /// false to have it skipped.
    pub fn fields(&mut self, mut take: impl FnMut(&mut Self, i16, u8) -> Option<bool>) -> Option<()> {
        self.each(0, &mut take)
    }

    fn each(&mut self, depth: u8, take: &mut dyn FnMut(&mut Self, i16, u8) -> Option<bool>) -> Option<()> {
        let mut id = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Some(());
            }
            id = match head >> 4 {
                0 => self.signed()?.try_into().ok()?,
                delta => id.checked_add(delta.into())?,
            };
            if !take(self, id, head & 15)? {
                self.skip(head & 15, depth)?;
            }
        }
    }

    fn skip(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            TRUE | FALSE => Some(()),
            BYTE => self.skip_bytes(1),
            INT16 | INT32 | INT64 => self.unsigned().map(drop),
            DOUBLE => self.skip_bytes(8),
            BINARY => {
                let length = self.unsigned()?;
                self.skip_bytes(length)
            }
            LIST | SET => self.list(depth).map(drop),
            MAP => {
                let count = self.unsigned()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.skip_element(kinds >> 4, depth)?;
                    self.skip_element(kinds & 15, depth)
                })
            }
            STRUCT if depth < DEPTH => self.each(depth + 1, &mut |_, _, _| Some(false)),
            _ => None,
        }
    }

    /// Skips a list at nesting depth `depth`. Returns its number of elements.
    pub fn list(&mut self, depth: u8) -> Option<u64> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.unsigned()? } else { u64::from(head >> 4) };
        (0..count).try_for_each(|_| self.skip_element(head & 15, depth))?;
        Some(count)
    }

    /// Skips an element of a list or map. There, a boolean occupies one byte.
    fn skip_element(&mut self, kind: u8, depth: u8) -> Option<()> {
        match kind {
            TRUE | FALSE => self.skip_bytes(1),
            // The depth is checked first, because a hostile header could recurse until the stack overflows.
            _ if depth < DEPTH => self.skip(kind, depth + 1),
            _ => None,
        }
    }

    fn skip_bytes(&mut self, bytes: u64) -> Option<()> {
        self.at = usize::try_from(bytes).ok().and_then(|bytes| self.at.checked_add(bytes))?;
        (self.at <= self.bytes.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_after_skipped_ones() {
        // 1: i32 5; 2: list of 2 binaries; 3: struct of a double; 5: map of one byte to i32; 6: true; 300: i32 -3
        let bytes = [
            &[0x15, 10, 0x19, 0x28, 1, b'a', 0][..],
            &[0x1c, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            &[0x2b, 1, 0x35, 7, 2, 0x11, 0x05, 0xd8, 4, 5, 0],
        ]
        .concat();
        let mut seen = Vec::new();
        let mut compact = Compact::new(&bytes);
        let all = compact.fields(|compact, id, kind| {
            seen.push((id, kind));
            match id {
                1 => assert_eq!(compact.int32()?, 5),
                300 => assert_eq!(compact.int32()?, -3),
                _ => return Some(false),
            }
            Some(true)
        });
        assert_eq!((all, compact.at()), (Some(()), bytes.len()));
        assert_eq!(seen, [(1, INT32), (2, LIST), (3, STRUCT), (5, MAP), (6, TRUE), (300, INT32)]);
        for cut in 0..bytes.len() {
            assert_eq!(Compact::new(&bytes[..cut]).fields(|_, _, _| Some(false)), None, "{cut}");
        }
    }

    #[test]
    fn endlessly_nested_lists_are_refused() {
        assert_eq!(Compact::new(&[0x19, 0x19].repeat(10_000)).fields(|_, _, _| Some(false)), None);
        assert_eq!(Compact::new(&[0x1c; 10_000]).fields(|_, _, _| Some(false)), None);
        assert_eq!(
            Compact::new(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])
                .fields(|_, _, _| Some(false)),
            None
        );
    }
}
