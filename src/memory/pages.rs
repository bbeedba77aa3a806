//! Advice to the system on pages of memory: populating them before they are needed, and returning them.
#![allow(unsafe_code)] // madvise has no safe form

/// Size of a memory page in bytes.
const PAGE: usize = 4096;

/// Gives the whole pages within pieces of a [`super::Buffer`] back to the system. Afterwards each word of the pieces is
/// zero or unchanged. Adjacent pieces are given back together, so that whole huge pages can be freed.
pub fn discard(mut pieces: Vec<&mut [u32]>) {
    pieces.sort_unstable_by_key(|piece| piece.as_ptr().addr());
    let mut pieces = pieces.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let mut range = piece.as_mut_ptr_range();
        while let Some(next) = pieces.next_if(|next| next.as_ptr().addr() == range.end.addr()) {
            range.end = next.as_mut_ptr_range().end;
        }
        let (from, to) = (range.start.addr().next_multiple_of(PAGE), range.end.addr() / PAGE * PAGE);
        if from < to {
            // SAFETY: whole pages within pieces that are borrowed mutably, so nobody else uses them. Pages of private anonymous memory come
            // back as zeros, a valid value of every word; a failure changes nothing.
            unsafe { libc::madvise(range.start.with_addr(from).cast(), to - from, libc::MADV_DONTNEED) };
        }
    }
}

/// Asks the system to read ahead the pages of `piece`, which is a part of a mapped file. The system may ignore this.
pub fn will_need<T>(piece: &[T]) {
    advise(piece, libc::MADV_WILLNEED);
}

/// Tells the system that `piece`, which is a part of a mapped file, is read at random, so that it does not read ahead.
/// The system may ignore this.
pub fn random_access<T>(piece: &[T]) {
    advise(piece, libc::MADV_RANDOM);
}

/// Revokes [`random_access`].
pub fn usual_access<T>(piece: &[T]) {
    advise(piece, libc::MADV_NORMAL);
}

fn advise<T>(piece: &[T], advice: libc::c_int) {
    let range = piece.as_ptr_range();
    let (from, to) = (range.start.addr() / PAGE * PAGE, range.end.addr().next_multiple_of(PAGE));
    if !piece.is_empty() {
        // SAFETY: none of `MADV_WILLNEED`, `MADV_RANDOM` and `MADV_NORMAL` changes what is read from memory.
        unsafe { libc::madvise(range.start.with_addr(from).cast_mut().cast(), to - from, advice) };
    }
}

/// Asks the system to allocate the pages of `piece` now, so that later writes are fast: allocation takes longer than
/// the writes themselves. Linux before 5.14 ignores this, and allocates pages when they are written.
pub fn populate<T>(piece: &mut [T]) {
    let range = piece.as_mut_ptr_range();
    let (from, to) = (range.start.addr().next_multiple_of(PAGE), range.end.addr() / PAGE * PAGE);
    if from < to {
        // SAFETY: whole pages within a piece that is borrowed mutably; their contents stay.
        unsafe { libc::madvise(range.start.with_addr(from).cast(), to - from, libc::MADV_POPULATE_WRITE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Budget;

    #[test]
    fn discarded_pieces_are_zero_and_their_neighbours_stay() {
        let budget = Budget::new(1 << 30, 1).expect("room for the process");
        let mut b = budget.zeroed::<u32>(5 * 1024, "a test").expect("fits");
        b.fill(7);
        let [before, first, second, after] =
            b.get_disjoint_mut([0..512, 512..2048, 2048..4096, 4096..5120]).expect("apart");
        discard(vec![second, first]);
        assert!(before.iter().chain(after.iter()).all(|&x| x == 7));
        // Together the two pieces are whole pages, except the first half of one.
        assert!(b[1024..4096].iter().all(|&x| x == 0) && b[512..1024].iter().all(|&x| x == 7));
    }

    #[test]
    fn populated_pieces_keep_what_they_hold() {
        let budget = Budget::new(1 << 30, 1).expect("room for the process");
        let mut b = budget.addresses::<u32>(5 * 1024, "a test").expect("addresses");
        b[2000] = 7;
        populate(&mut b[500..]);
        assert!(b.iter().enumerate().all(|(i, &x)| x == if i == 2000 { 7 } else { 0 }));
    }
}
