//! Sums over the neighbours of vertices with long rows, on a GPU. A row is divided into pieces. Pieces are summed in
//! the order of their first neighbours, so that the values of the neighbours come from the GPU's cache. Then the sums
//! of the pieces of each row are added up in order.
#![allow(unsafe_code)] // kernel launches

use super::super::arithmetic::PIECE;
use super::kernel_structs::{HEADER, PROGRAM, SOURCES, SearchArguments, Visited};
use super::state::blocks;
use crate::error::Result;
use crate::gpu::{DeviceSlice, Kernel, Queue, THREADS, Workspace, constant, slices_bytes};

/// Number of vertices in a tile, which is a range of vertices. Pieces of rows whose first neighbours are in the same
/// tile are summed one after the other.
const TILE: u32 = constant(HEADER, "TILE");

/// GPU addresses of the arrays for the pieces of long rows. The memory layout must match `Pieces` in the kernels.
#[derive(Clone, Copy)]
#[repr(C)]
struct Pieces {
    list: u64,
    sums: u64,
    starts: u64,
    visited: u64,
    places: u64,
    total: u64,
}

const _: () = assert!(size_of::<Pieces>() == 48, "as in the kernels");

/// The pieces of all long rows of a graph, for one direction of edges at a time.
pub(super) struct LongRows {
    divide: Kernel,
    mark: Kernel,
    pull: Kernel,
    join: Kernel,
    pieces: Pieces,
    /// Index of the first piece of each tile (range of first neighbours), followed by the number of all pieces.
    places: DeviceSlice<u32>,
    /// `(direction, count)` of the row pieces that are listed, or `None` if none are. The direction is 1 for rows of
    /// in-neighbours, and 0 for rows of out-neighbours.
    listed: Option<(u32, u32)>,
}

impl LongRows {
    /// Returns the GPU memory, in bytes, for the pieces of `rows` long rows with `entries` neighbours in total, in a
    /// graph with `vertices` vertices.
    pub(super) fn bytes(vertices: u64, rows: u64, entries: u64) -> u64 {
        slices_bytes(lengths(vertices, rows, entries))
    }

    /// Allocates the GPU memory that [`LongRows::bytes`] counts.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn new(workspace: &mut Workspace, vertices: u64, rows: u64, entries: u64) -> Result<LongRows> {
        let slices = workspace.arena.take_all(lengths(vertices, rows, entries))?;
        workspace.queue.fill(slices[3], 0)?;
        let places = slices[4];
        let [list, sums, starts, visited, _] = slices.map(DeviceSlice::address);
        let total = places.part(tiles(vertices)..places.len()).address();
        let pieces = Pieces { list, sums, starts, visited, places: places.address(), total };
        let kernel = |name| workspace.kernel(&PROGRAM, name);
        Ok(LongRows {
            divide: kernel("betweenness_divide")?,
            mark: kernel("betweenness_mark")?,
            pull: kernel("betweenness_pull_pieces")?,
            join: kernel("betweenness_join")?,
            pieces,
            places,
            listed: None,
        })
    }

    /// Lists the pieces of all long rows in the order of their first neighbours, unless they are already listed.
    /// `enters` is 1 for rows of in-neighbours, and 0 for rows of out-neighbours. Returns the number of pieces.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn list(&mut self, queue: &Queue, search: &SearchArguments, enters: u32) -> Result<u32> {
        if let Some((_, count)) = self.listed.filter(|listed| listed.0 == enters) {
            return Ok(count);
        }
        let divide = |lists: bool| {
            let arguments = (*search, self.pieces, enters, u32::from(lists));
            // SAFETY: the arguments match the kernel's. The list is large enough for the pieces of each direction.
            unsafe { queue.launch(&self.divide, blocks(search.long_end), arguments) }
        };
        queue.fill(self.places, 0)?;
        divide(false)?;
        let mut places = vec![0; self.places.len() as usize];
        queue.read(self.places, &mut places)?;
        let count = places.pop().unwrap_or(0);
        let mut next = 0;
        places.iter_mut().for_each(|place| next += std::mem::replace(place, next));
        queue.write(&places, self.places.part(0..places.len() as u64))?;
        divide(true)?;
        self.listed = Some((enters, count));
        Ok(count)
    }

    /// Adds up, for each vertex in the list `visited`, the values of its neighbours. All vertices in the list have long
    /// rows. `enters` is 1 for in-neighbours, and 0 for out-neighbours. `pull` is the kernels' struct `Pull`.
    ///
    /// # Errors
    /// [`crate::Error::Lost`].
    pub(super) fn pull(
        &mut self,
        queue: &Queue,
        search: &SearchArguments,
        (visited, enters): (Visited, u32),
        pull: [u32; 4],
    ) -> Result<()> {
        let count = self.list(queue, search, enters)?;
        let (search, pieces) = (*search, self.pieces);
        // SAFETY: the arguments match the kernels'. The vertices are in the list, and each piece has memory for its
        // sums.
        unsafe {
            queue.launch(&self.mark, blocks(visited.count.div_ceil(THREADS)), (visited, pieces))?;
            queue.launch(&self.pull, blocks(count.div_ceil(THREADS)), (search, pieces, count, pull))?;
            queue.launch(&self.join, blocks(visited.count.div_ceil(THREADS / 32)), (search, visited, pieces, enters))
        }
    }
}

/// Returns the lengths, in 32-bit words, of the arrays in [`Pieces`] from `list` to `places`, which end with `total`.
/// Each half of a row may end with a piece that is not full.
fn lengths(vertices: u64, rows: u64, entries: u64) -> [u64; 5] {
    let pieces = entries / PIECE as u64 + 2 * rows;
    [2 * pieces, 2 * SOURCES as u64 * pieces, rows, rows.div_ceil(4), tiles(vertices) + 1]
}

/// Returns the number of tiles (ranges of [`TILE`] vertices) that contain `vertices` vertices.
fn tiles(vertices: u64) -> u64 {
    vertices.div_ceil(u64::from(TILE))
}
