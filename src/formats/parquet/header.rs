//! Parses the header of a page, as `parquet.thrift` defines it:
//! <https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>.

use parquet::basic::Encoding;

use super::thrift::{Compact, INT32, STRUCT, TRUE};

/// Maximum size of a page header in bytes, including the statistics of a numeric column.
pub(super) const MOST: usize = 64 << 10;

/// The header of a Parquet page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Size of the page header itself, in bytes.
    pub length: usize,
    /// Size of the page as stored in the file, in bytes; `size` is its uncompressed size.
    pub stored: usize,
    pub size: usize,
    /// Checksum of the page as stored, if the header contains one.
    pub crc: Option<u32>,
    pub kind: PageKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PageKind {
    /// A page of values that is compressed as a whole.
    Data { values: u32, encoding: Encoding, levels: Encoding },
    /// A page that consists of definition levels, which are not compressed and have `levels` bytes, and of values.
    Data2 { values: u32, nulls: u32, rows: u32, encoding: Encoding, levels: usize, packed: bool },
    /// The dictionary: the distinct values to which other pages of the column refer.
    Dictionary { values: u32, encoding: Encoding },
    /// A page of another kind, such as an index. It is not read.
    Other,
}

/// The integers and booleans of a Thrift struct, indexed by field id.
type StructFields = [Option<i32>; 9];

impl Header {
    /// Parses the page header at the start of `bytes`; `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let mut compact = Compact::new(bytes);
        let (mut own, mut data, mut dictionary, mut data2) = (StructFields::default(), None, None, None);
        compact.fields(|compact, id, kind| match (id, kind) {
            (1..=4, INT32) => number(compact, id, &mut own),
            (5, STRUCT) => numbers(compact, &mut data),
            (7, STRUCT) => numbers(compact, &mut dictionary),
            (8, STRUCT) => numbers(compact, &mut data2),
            _ => Some(false),
        })?;
        let size = |number: Option<i32>| usize::try_from(number?).ok();
        let count = |number: Option<i32>| u32::try_from(number?).ok();
        let kind = match own[1]? {
            0 => {
                let fields: StructFields = data?;
                PageKind::Data {
                    values: count(fields[1])?,
                    encoding: encoding(fields[2]?)?,
                    levels: encoding(fields[3]?)?,
                }
            }
            1 => PageKind::Other,
            2 => {
                let fields = dictionary?;
                PageKind::Dictionary { values: count(fields[1])?, encoding: encoding(fields[2]?)? }
            }
            3 => {
                let fields = data2?;
                // Only lists have repetition levels, so these are 0 bytes long in a valid file; the sum includes them.
                let levels = size(fields[5])?.checked_add(size(fields[6])?)?;
                let (values, nulls, rows) = (count(fields[1])?, count(fields[2])?, count(fields[3])?);
                let packed = fields[7] != Some(0);
                PageKind::Data2 { values, nulls, rows, encoding: encoding(fields[4]?)?, levels, packed }
            }
            _ => return None,
        };
        let (length, crc) = (compact.at(), own[4].map(i32::cast_unsigned));
        Some(Header { length, stored: size(own[3])?, size: size(own[2])?, crc, kind })
    }
}

fn number(compact: &mut Compact<'_>, id: i16, into: &mut StructFields) -> Option<bool> {
    *into.get_mut(usize::try_from(id).ok()?)? = Some(compact.int32()?);
    Some(true)
}

fn numbers(compact: &mut Compact<'_>, into: &mut Option<StructFields>) -> Option<bool> {
    let fields = into.insert(StructFields::default());
    compact.fields(|compact, id, kind| match (id, kind) {
        (1..9, INT32) => number(compact, id, fields),
        (7, kind @ 1..=2) => {
            fields[7] = Some((kind == TRUE).into());
            Some(true)
        }
        _ => Some(false),
    })?;
    Some(true)
}

/// Returns the encoding with this Parquet code; `None` if it can't encode integers, strings or levels.
fn encoding(number: i32) -> Option<Encoding> {
    Some(match number {
        0 => Encoding::PLAIN,
        // 2 is the older code of dictionary encoding, 8 the newer.
        2 | 8 => Encoding::RLE_DICTIONARY,
        3 => Encoding::RLE,
        #[expect(deprecated, reason = "levels of old files are in it")]
        4 => Encoding::BIT_PACKED,
        5 => Encoding::DELTA_BINARY_PACKED,
        // The next two are not supported, but errors name them.
        6 => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        7 => Encoding::DELTA_BYTE_ARRAY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return None,
    })
}
