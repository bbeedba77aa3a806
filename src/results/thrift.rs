//! Writer of Thrift's compact protocol, which Parquet uses for footers and page headers. Source:
//! <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Writer of the fields of one Thrift struct.
pub(super) struct Record<'b> {
    bytes: &'b mut Vec<u8>,
    last: u8,
}

const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl<'b> Record<'b> {
    /// Begins a struct. Write its fields in ascending order of their ids, and call [`Self::end`] after the last one.
    pub fn new(bytes: &'b mut Vec<u8>) -> Record<'b> {
        Record { bytes, last: 0 }
    }

    fn field(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn signed(&mut self, value: i64) {
        self.varint(((value << 1) ^ (value >> 63)) as u64);
    }

    /// Writes a field of a Thrift struct that is a 32-bit integer.
    pub fn i32(&mut self, id: u8, value: i32) {
        self.field(id, I32);
        self.signed(value.into());
    }

    /// Writes a field of a Thrift struct that is a 64-bit integer.
    pub fn i64(&mut self, id: u8, value: i64) {
        self.field(id, I64);
        self.signed(value);
    }

    fn string(&mut self, text: &str) {
        self.varint(text.len() as u64);
        self.bytes.extend(text.bytes());
    }

    /// Writes a field of a Thrift struct that is a string.
    pub fn text(&mut self, id: u8, text: &str) {
        self.field(id, BINARY);
        self.string(text);
    }

    fn list_of(&mut self, id: u8, kind: u8, items: usize) {
        self.field(id, LIST);
        match items {
            0..15 => self.bytes.push((items as u8) << 4 | kind),
            _ => {
                self.bytes.push(0xf0 | kind);
                self.varint(items as u64);
            }
        }
    }

    /// Begins a field that is a list of `items` structs. Write each of them with [`Self::element`].
    pub fn list(&mut self, id: u8, items: usize) {
        self.list_of(id, STRUCT, items);
    }

    /// Writes a field that is a list with a single 32-bit integer.
    pub fn list_of_i32(&mut self, id: u8, value: i32) {
        self.list_of(id, I32, 1);
        self.signed(value.into());
    }

    /// Writes a field that is a list with a single string.
    pub fn list_of_text(&mut self, id: u8, text: &str) {
        self.list_of(id, BINARY, 1);
        self.string(text);
    }

    /// Writes an element of a list of Thrift structs.
    pub fn element(&mut self, write: impl FnOnce(&mut Record<'_>)) {
        let mut inner = Record::new(self.bytes);
        write(&mut inner);
        inner.end();
    }

    /// Writes a field that is itself a Thrift struct.
    pub fn record(&mut self, id: u8, write: impl FnOnce(&mut Record<'_>)) {
        self.field(id, STRUCT);
        self.element(write);
    }

    /// Ends the Thrift struct.
    pub fn end(self) {
        self.bytes.push(0);
    }
}
