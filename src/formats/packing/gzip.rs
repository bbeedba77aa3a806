//! Decompresses gzip files: consecutive members, and zeros after the last one, which tapes and block devices append.

use std::io::{BufRead, Read, Result};

use flate2::bufread::GzDecoder;

/// Reader that decompresses all members of a gzip file.
pub(crate) struct Members<R> {
    /// The current member; `None` only during the switch to the next one.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    pub fn new(stored: R) -> Members<R> {
        Members { member: Some(GzDecoder::new(stored)) }
    }

    pub fn get_ref(&self) -> &R {
        let Some(member) = &self.member else { unreachable!("a member ends and the next begins in one call") };
        member.get_ref()
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(member) = &mut self.member else { unreachable!("as above") };
            let read = member.read(into)?;
            if read > 0 || is_end(member.get_mut())? {
                return Ok(read);
            }
            self.member = self.member.take().map(|member| GzDecoder::new(member.into_inner()));
        }
    }
}

/// Returns true if only zeros follow. No member begins with a zero, so after a zero there can be no further member.
fn is_end(stored: &mut impl BufRead) -> Result<bool> {
    let mut padded = false;
    loop {
        let bytes = stored.fill_buf()?;
        if bytes.is_empty() {
            return Ok(true);
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let (all, some) = (zeros == bytes.len(), zeros > 0);
        stored.consume(zeros);
        padded |= some;
        if !all {
            let behind = || std::io::Error::other("other bytes behind zeros behind the last member");
            return if padded { Err(behind()) } else { Ok(false) };
        }
    }
}
