//! Checks of results: columns as they were written, against the edges of the input once more.
//!
//! Places of vertices are worked out anew (`searches::places`), and columns read to them. Numbers are held against each other as in the run. Then
//! every edge is, in whatever order they come: it leads to a vertex that was reached before, or to one below; and the child above
//! that, or of a child the one before it, comes first in order, as it was taken although both were new.

use super::fault::Fault;
use super::record::{NONE, Tree};
use super::task::{Found, Table};
use super::validate::{Numbers, nested};
use crate::algo::row_parts::check_rows;
use crate::algo::searches::places::{Places, Signals};
use crate::algo::team::{Parts, team};
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::formats::{Edges, Visitor};
use crate::graph::direction::{Direction, Way};
use crate::memory::{Budget, Buffer};
use crate::prepare::relabel::ISOLATED;
use crate::results::values;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Vertices that a thread takes at a time.
const PART: usize = 1 << 14;
/// Bytes of the buffer in which a column is read.
const READING: u64 = 1 << 20;

/// Holds the columns of a search against the edges; says what was found.
///
/// # Errors
/// [`Error::Validation`] for columns that no such search leaves; [`Error::Limit`]; those of reading; [`Error::Stopped`].
pub(super) fn verify(table: &Table, found: &Found, edges: &EdgeSource<'_>, results: &Results<'_>) -> Result<String> {
    let (budget, threads) = (results.budget, results.threads);
    let (reading, what) = match edges {
        EdgeSource::Input(input) => (input.scratch_bytes(threads), "the input"),
        EdgeSource::Blocks(_) => (0, "the blocks"),
    };
    let _reading = budget.reserve(reading.max(READING), "reading edges and results again")?;
    let places = Places::new(edges, results)?;
    let mut tree = Tree::new(places.vertices() as usize, budget)?;
    let source = match table.source {
        None => None,
        Some(source) => {
            let row = places.ids.row(source.0).ok_or_else(|| wrong("the source is no vertex of the input"))?;
            let place = places.of_rows()?.get(row as usize).copied().filter(|&place| place != ISOLATED);
            match place {
                None => return Ok("the source has no edge".into()),
                place => place,
            }
        }
    };
    read(&mut tree, &places, results)?;
    let told = |fault: Fault| fault.error(&|v| places.name(v));
    let (numbers, trees) = nested(&tree, source, budget)?.map_err(told)?;
    if (u64::from(tree.reached), u64::from(trees)) != (found.reached, found.trees) {
        let (reached, job) = (tree.reached, (found.reached, found.trees));
        return Err(wrong(&format!("{reached} vertices in {trees} trees by the columns, the job tells {job:?}")));
    }
    let held = Held::new(&tree, &numbers, results.info.direction, budget)?;
    held.all(edges, &places, threads)?.map_err(told)?;
    held.all_met(threads)?.map_err(told)?;
    Ok(format!("holds against the edges of {what}: {} vertices, each reached from the first that could", tree.reached))
}

fn wrong(what: &str) -> Error {
    Error::Validation(format!("depth-first search: {what}"))
}

/// Reads all columns to places.
fn read(tree: &mut Tree, places: &Places, results: &Results<'_>) -> Result<()> {
    let of_rows = places.of_rows()?;
    let mut reached = 0;
    for (number, name) in ["parent", "preorder", "postorder", "depth"].into_iter().enumerate() {
        let beginning = format!("out/dfs/{name}.");
        let file = results.outputs.keys().find(|file| file.starts_with(&beginning));
        let path = results.workdir.join(file.ok_or_else(|| wrong(&format!("no file of its column {name}")))?);
        let mut rows = 0;
        for (value, row) in values::<i64>(&path)?.zip(0u64..) {
            let (value, id) = (value?, places.ids.id(row));
            rows += 1;
            let Some(place) = of_rows.get(row as usize).copied().filter(|&place| place != ISOLATED) else {
                if value != -1 {
                    return Err(wrong(&format!("vertex {id} has no edge, and {name} {value}")));
                }
                continue;
            };
            let number_of = match u64::try_from(value) {
                Err(_) if value == -1 => Some(NONE),
                Err(_) => None,
                Ok(parent) if number == 0 => {
                    let row = places.ids.row(parent).and_then(|row| of_rows.get(row as usize).copied());
                    row.filter(|&place| place != ISOLATED)
                }
                Ok(number_of) => u32::try_from(number_of).ok().filter(|&number_of| number_of != NONE),
            };
            let number_of = number_of.ok_or_else(|| wrong(&format!("vertex {id} has {name} {value}")))?;
            reached += u32::from(number == 0 && number_of != NONE);
            tree.numbers_mut()[4 * place as usize + number] = number_of;
        }
        if rows < of_rows.len() {
            return Err(wrong(&format!("{rows} rows of {name} for {} vertices", of_rows.len())));
        }
    }
    (tree.reached, tree.left) = (reached, reached);
    Ok(())
}

/// A tree that edges are held against.
struct Held<'a> {
    tree: &'a Tree,
    numbers: &'a Numbers,
    direction: Direction,
    /// Where the children of each vertex begin among those of all, and their number.
    first: Buffer<u32>,
    /// The children of all vertices, as they were reached.
    children: Buffer<u32>,
    /// A bit for each vertex: set where an edge from its parent was seen.
    met: Buffer<AtomicU32>,
}

impl<'a> Held<'a> {
    fn new(tree: &'a Tree, numbers: &'a Numbers, direction: Direction, budget: &Budget) -> Result<Held<'a>> {
        let vertices = tree.vertices() as usize;
        let mut first: Buffer<u32> = budget.zeroed(vertices + 1, "children of vertices (4 bytes each)")?;
        let mut children: Buffer<u32> = budget.zeroed(tree.reached as usize, "children (4 bytes each)")?;
        let order = &numbers.order[..tree.reached as usize];
        let is_child = |v: &&u32| tree.parent(**v) != **v;
        order.iter().filter(is_child).for_each(|&v| first[tree.parent(v) as usize + 1] += 1);
        for v in 0..vertices {
            first[v + 1] += first[v];
        }
        // Places move on as they are filled, and come back by one vertex behind.
        for &v in order.iter().filter(is_child) {
            let place = &mut first[tree.parent(v) as usize];
            children[*place as usize] = v;
            *place += 1;
        }
        first.copy_within(..vertices, 1);
        first[0] = 0;
        Ok(Held {
            tree,
            numbers,
            direction,
            first,
            children,
            met: budget.zeroed(vertices / 32 + 1, "bits of parents")?,
        })
    }

    /// Holds all edges against the tree; returns the first fault by the ends of its edge.
    fn all(&self, edges: &EdgeSource<'_>, places: &Places, threads: usize) -> Result<Result<(), Fault>> {
        match edges {
            EdgeSource::Input(input) => {
                let of_rows = places.of_rows()?;
                let new = |_| Holder { held: self, places, of_rows, wrong: None };
                let mut holders: Vec<Holder<'_>> = (0..threads.max(1)).map(new).collect();
                input.scan(&mut holders, &Signals)?;
                let first = holders.iter().filter_map(|holder| holder.wrong).min_by_key(|&(ends, _)| ends);
                Ok(first.map_or(Ok(()), |(_, fault)| Err(fault)))
            }
            EdgeSource::Blocks(graph) => {
                let found = check_rows(
                    &graph.catalogue,
                    threads,
                    || (),
                    |part, ()| {
                        part.rows.clone().try_for_each(|local| {
                            let row = part.block.first_row + local as u32;
                            let v = self.direction.vertex(row);
                            let enters = self.direction == Direction::Directed && row == self.direction.row(v, Way::In);
                            let mut neighbours = part.block.row(local).iter();
                            neighbours.try_for_each(|&w| self.edge(if enters { [w, v] } else { [v, w] }))
                        })
                    },
                )?;
                Ok(found.map(drop))
            }
        }
    }

    fn edge(&self, [u, v]: [u32; 2]) -> Result<(), Fault> {
        self.lead(u, v)?;
        if self.direction == Direction::Undirected { self.lead(v, u) } else { Ok(()) }
    }

    /// Holds an edge against the tree in the direction in which it leads `from` one vertex `to` another.
    #[inline]
    fn lead(&self, from: u32, to: u32) -> Result<(), Fault> {
        let [own, pre] = [from, to].map(|v| self.numbers.pre[v as usize]);
        if own == NONE || pre <= own {
            return Ok(());
        }
        if pre == NONE {
            return Err(Fault::NotReached { from, to });
        }
        if pre >= self.numbers.end[own as usize] {
            return Err(Fault::Cross { from, to });
        }
        let children = &self.children[self.first[from as usize] as usize..self.first[from as usize + 1] as usize];
        let above = children.partition_point(|&child| self.numbers.pre[child as usize] <= pre);
        let mut before = above.wrapping_sub(1);
        if self.tree.parent(to) == from {
            self.met[to as usize / 32].fetch_or(1 << (to % 32), Relaxed);
            before = before.wrapping_sub(1);
        }
        match children.get(before) {
            Some(&child) if child > to => Err(Fault::NotFirst { vertex: from, to: child }),
            _ => Ok(()),
        }
    }

    /// Checks that an edge from the parent of every vertex was seen.
    fn all_met(&self, threads: usize) -> Result<Result<(), Fault>> {
        let wrong: Mutex<Option<u32>> = Mutex::default();
        let parts = Parts::new(self.tree.vertices() as usize, PART);
        team(threads, &|_| {
            parts.each(|part| {
                let lacks = |&v: &u32| {
                    let parent = self.tree.parent(v);
                    let is_met = self.met[v as usize / 32].load(Relaxed) >> (v % 32) & 1 == 1;
                    parent != NONE && parent != v && !is_met
                };
                if let Some(v) = part.map(|v| v as u32).find(lacks) {
                    let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
                    *wrong = Some(wrong.map_or(v, |first| first.min(v)));
                }
                Ok(())
            })
        })?;
        let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(wrong.map_or(Ok(()), |vertex| Err(Fault::NoEdge { vertex, parent: self.tree.parent(vertex) })))
    }
}

/// Holds the edges of the input against the tree, in one thread.
struct Holder<'a> {
    held: &'a Held<'a>,
    places: &'a Places,
    of_rows: &'a [u32],
    wrong: Option<([u32; 2], Fault)>,
}

impl Holder<'_> {
    fn all(&mut self, edges: impl Iterator<Item = [u64; 2]>) {
        for ends in edges.filter(|[u, v]| u != v) {
            let place = |id| self.places.ids.row(id).and_then(|row| self.of_rows.get(row as usize)).copied();
            let ends = ends.map(|id| place(id).unwrap_or(ISOLATED));
            if !ends.contains(&ISOLATED)
                && let Err(fault) = self.held.edge(ends)
                && self.wrong.is_none_or(|(first, _)| ends < first)
            {
                self.wrong = Some((ends, fault));
            }
        }
    }
}

impl Visitor for Holder<'_> {
    fn visit(&mut self, edges: Edges<'_>, _: &[u32]) -> Result<()> {
        match edges {
            Edges::Narrow(edges) => self.all(edges.iter().map(|edge| edge.map(u64::from))),
            Edges::Wide(edges) => self.all(edges.iter().copied()),
        }
        Ok(())
    }
}
