//! The state that the threads of a pass over an input share: the layout of each file, and the chunks of each process.

pub mod layout;
pub mod share;
pub mod state;
pub mod stored;
