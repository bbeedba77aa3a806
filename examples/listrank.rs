//! Ranks a linked list in memory, and uses the ranks to put its elements in order.
//!
//!     cargo run --release --example listrank

use gpugraph::Context;
use gpugraph::listrank::{self, Options, Order};

fn main() -> gpugraph::Result<()> {
    // Element i is followed by i + 7 around a circle of 10, which is cut before 0.
    let length = 10;
    let successors = (0..length).map(|i| (i + 7) % length).map(|next| if next == 0 { -1 } else { next }).collect();

    let context = Context::new()?;
    let options = Options { order: Order::FromHead, ..Options::default() };
    let ranks = listrank::rank(successors, &options, &context)?;
    let mut list = vec![0; length as usize];
    ranks.ranks().iter().for_each(|(element, rank)| list[rank as usize] = element);
    println!("{list:?}");
    Ok(())
}
