//! Advice to the kernel on pages of memory: allocating them ahead of use, releasing them, and reading ahead.
#![allow(unsafe_code)] // madvise has no safe form

use super::{HUGE, PAGE};
use std::ops::Range;

/// Releases the whole pages within `pieces`, slices of a [`super::Buffer`]. Afterwards each element of the slices is
/// zero or unchanged. Adjacent slices are released together, so that whole huge pages can be freed.
pub fn discard(pieces: Vec<&mut [u32]>) {
    joined(pieces).for_each(free);
}

/// Remaps the huge pages that lie within `pieces`, slices of a [`super::Buffer`], to the start of `place`, a slice of
/// another buffer. Releases the other pages like [`discard`]. The contents of `place` are then unspecified. Writing to
/// remapped pages is faster than writing to fresh ones, which the kernel must zero. Makes at most `most` moves, because
/// the kernel limits the number of mappings. Returns the number of moves.
pub fn move_pages(pieces: Vec<&mut [u32]>, place: &mut [u32], most: usize) -> usize {
    let Range { start: place_start, end } = place.as_mut_ptr_range();
    let mut room = place_start.addr().next_multiple_of(HUGE)..end.addr() / HUGE * HUGE;
    let mut moved = 0;
    for range in joined(pieces) {
        let from = range.start.addr().next_multiple_of(HUGE);
        let len = (range.end.addr() / HUGE * HUGE).saturating_sub(from).min(room.end.saturating_sub(room.start));
        let mut rest = range.clone();
        if len > 0 && moved < most {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | libc::MREMAP_DONTUNMAP;
            // SAFETY: remaps whole pages of private anonymous memory. The slices are borrowed mutably, so nobody else
            // uses the pages. The old addresses then read as zeros and the new ones as the old words, which are all
            // valid values. A failure changes nothing. The system call is made directly for the reason that
            // `Buffer::grow` gives.
            let result = unsafe {
                let (old, new) = (range.start.with_addr(from), place_start.with_addr(room.start));
                libc::syscall(libc::SYS_mremap, old, len, len, flags, new)
            };
            if result != -1 {
                moved += 1;
                room.start += len;
                free(range.start..range.start.with_addr(from));
                rest.start = range.start.with_addr(from + len);
            }
        }
        free(rest);
    }
    moved
}

/// Returns the address ranges of `pieces` in ascending order, with adjacent ranges joined.
fn joined(mut pieces: Vec<&mut [u32]>) -> impl Iterator<Item = Range<*mut u32>> {
    pieces.sort_unstable_by_key(|piece| piece.as_ptr().addr());
    let mut pieces = pieces.into_iter().map(<[u32]>::as_mut_ptr_range).peekable();
    std::iter::from_fn(move || {
        let mut range = pieces.next()?;
        while let Some(next) = pieces.next_if(|next| next.start.addr() == range.end.addr()) {
            range.end = next.end;
        }
        Some(range)
    })
}

/// Releases the whole pages within `range`, which must lie within slices that are borrowed mutably.
fn free(range: Range<*mut u32>) {
    let (from, to) = (range.start.addr().next_multiple_of(PAGE), range.end.addr() / PAGE * PAGE);
    if from < to {
        // SAFETY: releases whole pages that nobody else uses, as the caller guarantees. Private anonymous pages then
        // read as zeros, a valid value of every word. A failure changes nothing.
        unsafe { libc::madvise(range.start.with_addr(from).cast(), to - from, libc::MADV_DONTNEED) };
    }
}

/// Asks the kernel to read the pages of `piece`, a slice of a mapped file, ahead of time. The kernel may ignore this.
pub fn will_need<T>(piece: &[T]) {
    advise(piece, libc::MADV_WILLNEED);
}

/// Advises the kernel not to read ahead in `piece`, a slice of a mapped file, because it is accessed at random. The
/// kernel may ignore this.
pub fn random_access<T>(piece: &[T]) {
    advise(piece, libc::MADV_RANDOM);
}

/// Revokes the advice of [`random_access`] for `piece`.
pub fn usual_access<T>(piece: &[T]) {
    advise(piece, libc::MADV_NORMAL);
}

/// Returns true if the advice of [`random_access`] is in effect at the start of `piece`.
#[cfg(test)]
pub fn is_random<T>(piece: &[T]) -> bool {
    let (at, mut is_mapped_here) = (piece.as_ptr().addr(), false);
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    maps.lines().any(|line| {
        let address = |text| usize::from_str_radix(text, 16).ok();
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        if let Some((Some(from), Some(to))) = range.map(|(from, to)| (address(from), address(to))) {
            is_mapped_here = (from..to).contains(&at);
        }
        is_mapped_here && line.strip_prefix("VmFlags:").is_some_and(|flags| flags.contains(" rr"))
    })
}

fn advise<T>(piece: &[T], advice: libc::c_int) {
    let range = piece.as_ptr_range();
    let (from, to) = (range.start.addr() / PAGE * PAGE, range.end.addr().next_multiple_of(PAGE));
    if !piece.is_empty() {
        // SAFETY: none of `MADV_WILLNEED`, `MADV_RANDOM` and `MADV_NORMAL` changes the contents of memory.
        unsafe { libc::madvise(range.start.with_addr(from).cast_mut().cast(), to - from, advice) };
    }
}

/// Asks the kernel to allocate the whole pages of `piece` now, so that later writes do not wait for page faults. Linux
/// before 5.14 ignores this and allocates pages when they are written.
pub fn populate<T>(piece: &mut [T]) {
    let range = piece.as_mut_ptr_range();
    let (from, to) = (range.start.addr().next_multiple_of(PAGE), range.end.addr() / PAGE * PAGE);
    if from < to {
        // SAFETY: whole pages within a slice that is borrowed mutably; their contents do not change.
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
        // Together the two pieces cover whole pages, except the first half page of `first`.
        assert!(b[1024..4096].iter().all(|&x| x == 0) && b[512..1024].iter().all(|&x| x == 7));
    }

    #[test]
    fn moved_pages_are_used_again_and_their_neighbours_stay() {
        let (budget, words) = (Budget::new(1 << 30, 1).expect("room for the process"), HUGE / 4);
        let mut from = budget.zeroed::<u32>(5 * words, "a test").expect("fits");
        let mut to = budget.zeroed::<u32>(4 * words, "a test").expect("fits");
        from.fill(7);
        to.fill(1);
        // The two middle pieces together cover two huge pages, and parts of two others. `to` has space for one huge
        // page.
        let [before, first, second, after] = from
            .get_disjoint_mut([0..1000, 1000..2 * words + 5, 2 * words + 5..4 * words - 9, 4 * words - 9..5 * words])
            .expect("apart");
        let moved = move_pages(vec![second, first], &mut to[words - 1..3 * words - 1], 9);
        assert!(before.iter().chain(after.iter()).all(|&x| x == 7));
        assert!(to[..words].iter().chain(&to[2 * words..]).all(|&x| x == 1));
        assert!(to[words..2 * words].iter().all(|&x| x == if moved == 1 { 7 } else { 1 }));
        assert!(from[1024..4 * words - 1024].iter().all(|&x| x == 0));
        to.fill(2);
        from.fill(3);
        assert!(to.iter().all(|&x| x == 2) && from.iter().all(|&x| x == 3));
        assert_eq!(move_pages(vec![&mut from], &mut to, 0), 0);
        assert!(to.iter().all(|&x| x == 2) && from.iter().all(|&x| x == 0));
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
