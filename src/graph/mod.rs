//! The graph: vertex ids and their order by degree, and blocks of rows with their layout and storage.
//!
//! A graph is stored as compressed sparse rows (CSR), in blocks of consecutive rows. Tasks read these blocks through a
//! [`BlockStore`].
//!
//! | module | contents |
//! |---|---|
//! | `ids`, `order`, `degrees` | id types of vertices, the order of vertices by degree, and degrees |
//! | `direction`, `half` | the rows of a vertex by edge direction, and their halves: smaller and larger ids |
//! | `layout`, `likely` | division of rows into blocks by degrees; expected degrees of random graphs |
//! | `csr` | view of one block, in a file or in memory |
//! | `stored`, `host_block`, `placement`, `packed` | blocks in files, host memory and GPU memory, and packed |
//! | `block_store`, `adjacency` | all blocks, and random access to whole rows |
//! | `weights` | edge weights |
//! | `bins` | degree histogram for the report |

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
