//! The graph: the order of vertices, and blocks of rows with their layout and storage.
//!
//! A graph is stored as compressed sparse rows (CSR), in blocks of consecutive rows. [`block_store`] has all blocks of
//! a graph; tasks read it.
//!
//! | module | contents |
//! |---|---|
//! | `ids`, `order`, `degrees` | numberings of vertices, their order by degree, and degrees |
//! | `direction`, `half` | the rows that a vertex has: by direction, and for smaller and larger neighbours |
//! | `layout`, `likely` | where blocks begin, from the degrees of vertices or from expected degrees |
//! | `csr` | a view of one block, in a file or in memory |
//! | `stored`, `host_block`, `placement`, `packed` | blocks in files, in host memory, in GPU memory, and packed |
//! | `block_store`, `adjacency` | all blocks, and random access to whole rows |
//! | `weights` | weights of edges |
//! | `bins` | histogram of degrees for the report |

pub mod adjacency;
pub mod bins;
pub mod block_store;
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

pub use block_store::{BlockLocation, BlockStore};
pub use csr::Block;
pub use degrees::{DegreeCounter, DegreeSummary, Degrees};
pub use direction::{Direction, EdgeDirection};
pub use half::Half;
pub use host_block::{HostBlock, MemoryBlock, RemoteBlock};
pub use ids::{DenseId, FirstId, InputId, RawId, Vertex};
pub use layout::{BIN_ROWS, Bins, Layout, RowRange};
pub use order::DegreeRuns;
pub use packed::{BlockPacker, HalfPacked, PackedRows, Packer, pack_half};
pub use placement::{BlockSize, DeviceBlock, Placement, assign_ranks};
pub use stored::{BlockWriter, StoredBlock};
pub use weights::stored::{GraphWeights, StoredWeights, WeightsWriter};
