//! What the threads of a pass over an input share: the layout of each file, and which chunks belong to which rank.

pub mod layout;
pub mod share;
pub mod state;
pub mod stored;
