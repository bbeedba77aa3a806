//! The graph: the order of vertices, and blocks of rows with their layout and storage.
//!
//! A graph is kept as compressed sparse rows (CSR), in blocks of rows that follow each other. [`catalogue`] has all blocks of a graph, and is what tasks read.
//!
//! | file | holds |
//! |---|---|
//! | `ids`, `order`, `degrees` | numberings of vertices, their order by degree, and degrees |
//! | `direction`, `half` | the rows that a vertex has: by direction, of smaller and of larger neighbours |
//! | `layout`, `likely` | where blocks begin, by the degrees of vertices, or by those to be expected |
//! | `csr` | one block, wherever it lies |
//! | `stored`, `host_block`, `placement`, `packed` | blocks in files, in host memory, in GPU memory, and packed |
//! | `catalogue`, `adjacency` | all blocks, and whole rows of them at random |
//! | `weights` | weights beside the rows |
//! | `bins` | degrees as the report shows them |

pub mod adjacency;
pub mod bins;
pub mod catalogue;
pub mod csr;
pub mod degrees;
pub mod direction;
pub mod half;
pub mod host_block;
pub mod ids;
pub mod layout;
pub mod likely;
pub mod order;
pub mod packed;
pub mod placement;
pub mod stored;
pub mod weights;
