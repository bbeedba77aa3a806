//! Verifies strongly connected components, a topological order, and a cycle of several vertices by the edges of a
//! graph.
//!
//! Components are correct if no two components reach each other, and if all vertices of a component reach each other.
//! An edge to another component must lead to a component that was finished earlier, so no two components reach each
//! other. The first vertex of a component reaches the others by tree paths that stay in the component. Each other
//! vertex must have a path, through its descendants, to an earlier vertex of its component. So by several such paths it
//! reaches the first vertex.

use super::columns::DfsColumns;
use super::cycle::CycleCheck;
use super::wrong;
use crate::algo::dfs::fault::DfsFault;
use crate::algo::dfs::output::{DfsOutput, StrongComponents};
use crate::algo::dfs::record::{DfsTree, NONE};
use crate::algo::dfs::validate::TreeNumbers;
use crate::error::Result;
use crate::memory::{Budget, Buffer};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The components in the columns, and the data to check them against edges.
pub(super) struct ComponentCheck {
    /// For each vertex, the vertex of its component that was reached first.
    first: Buffer<u32>,
    /// For each vertex, its position in the topological order; `None` if the results contain no such order.
    places: Option<Buffer<u32>>,
    /// For each vertex, the smallest preorder number of its out-neighbours in the same component.
    low: Buffer<AtomicU32>,
    cycle: CycleCheck,
}

impl ComponentCheck {
    /// Reads the components, the topological order and the cycle from the columns.
    ///
    /// # Errors
    /// [`crate::Error::Validation`] if the values of a column are impossible; [`crate::Error::Limit`]; read errors.
    pub fn read(columns: &DfsColumns<'_>, tree: &DfsTree, strong: &StrongComponents, budget: &Budget) -> Result<Self> {
        let vertices = tree.vertices() as usize;
        let mut first: Buffer<u32> = budget.zeroed(vertices, "components to verify (4 bytes a vertex)")?;
        first.fill(NONE);
        columns.each(
            "component",
            columns.own.map_or(-1, |row| columns.places.ids.number(row) as i64),
            |v, value| {
                let reached = tree.parent(v) != NONE;
                first[v as usize] = columns.place(value, reached).unwrap_or(NONE);
                if reached { first[v as usize] != NONE } else { value == -1 }
            },
        )?;
        let low: Buffer<AtomicU32> = budget.zeroed(vertices, "what vertices lead to (4 bytes each)")?;
        low.iter().for_each(|low| low.store(NONE, Relaxed));
        let places = match strong.cycle_length {
            Some(0) => Some(topological(columns, tree, budget)?),
            _ => None,
        };
        Ok(ComponentCheck { first, places, low, cycle: CycleCheck::read(columns, strong, budget)? })
    }

    /// Checks the components and the topological order against the edge `from` → `to`, whose ends are reached.
    #[inline]
    pub fn edge(&self, tree: &DfsTree, from: u32, to: u32) -> std::result::Result<(), DfsFault> {
        let [own, other] = [from, to].map(|v| self.first[v as usize]);
        if own == other {
            let low = &self.low[from as usize];
            if tree.pre(to) < low.load(Relaxed) {
                low.fetch_min(tree.pre(to), Relaxed);
            }
        } else if tree.post(other) > tree.post(own) {
            return Err(DfsFault::Component { from, to });
        }
        if self.places.as_ref().is_some_and(|places| places[from as usize] >= places[to as usize]) {
            return Err(DfsFault::Topological { from, to });
        }
        self.cycle.edge(from, to);
        Ok(())
    }

    /// Compares the number of components and the size of the largest component with the report, and checks that the
    /// vertices of each component reach each other. Before, all edges must have been passed to
    /// [`ComponentCheck::edge`].
    ///
    /// # Errors
    /// [`crate::Error::Validation`].
    pub fn compare(
        self,
        tree: &DfsTree,
        numbers: &TreeNumbers,
        (found, strong): (&DfsOutput, &StrongComponents),
        name: &dyn Fn(u32) -> String,
        budget: &Budget,
    ) -> Result<String> {
        let mut sizes: Buffer<u32> =
            budget.zeroed(tree.vertices() as usize, "sizes of components (4 bytes a vertex)")?;
        let order = &numbers.order[..tree.reached as usize];
        for &v in order.iter().rev() {
            let (first, parent, low) = (self.first[v as usize], tree.parent(v), self.low[v as usize].load(Relaxed));
            sizes[first as usize] += 1;
            if first == v {
                continue;
            }
            if parent == v || self.first[parent as usize] != first || low >= tree.pre(v) {
                let what = format!("vertex {} is not of the component of {}, as its column says", name(v), name(first));
                return Err(wrong(&what));
            }
            self.low[parent as usize].fetch_min(low, Relaxed);
        }
        let (mut components, mut largest) = (0, 0);
        for &size in sizes.iter().filter(|&&size| size > 0) {
            components += 1;
            largest = largest.max(u64::from(size));
        }
        if (components, largest) != (strong.components, strong.largest_component) {
            let reported = (strong.components, strong.largest_component);
            let what = format!("{components} components, the largest of {largest}, the job reports {reported:?}");
            return Err(wrong(&what));
        }
        // A cycle of length 1 is a self-loop, which joins no vertices.
        if strong.cycle_length.is_none_or(|length| length <= 1) != (components == found.reached) {
            return Err(wrong("the report has a cycle and the components have none, or the other way round"));
        }
        if let Some([from, to]) = self.cycle.lacks() {
            let what = format!(
                "no edge leads from {} to {}, which are consecutive in the reported cycle",
                name(from),
                name(to)
            );
            return Err(wrong(&what));
        }
        Ok(format!(", {components} strong components"))
    }
}

/// Reads the topological order from its column. All reached vertices must have different positions.
fn topological(columns: &DfsColumns<'_>, tree: &DfsTree, budget: &Budget) -> Result<Buffer<u32>> {
    let vertices = tree.vertices() as usize;
    let mut places: Buffer<u32> = budget.zeroed(vertices, "the topological order (4 bytes a vertex)")?;
    let mut taken: Buffer<u32> = budget.zeroed(vertices / 32 + 1, "bits of the topological order")?;
    columns.each("topological", 0, |v, value| {
        if tree.parent(v) == NONE || value < 0 || value >= i64::from(tree.reached) {
            return value == -1 && tree.parent(v) == NONE;
        }
        places[v as usize] = value as u32;
        let (word, bit) = (&mut taken[value as usize / 32], 1 << (value % 32));
        let is_free = *word & bit == 0;
        *word |= bit;
        is_free
    })?;
    Ok(places)
}
