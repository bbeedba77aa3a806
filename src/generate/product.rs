//! The tensor product A ⊗ B of two graphs. Its vertices are pairs (a, b) with the id a·n(B) + b, where n(B) is the
//! largest id of B plus 1. Two pairs (a1, b1) and (a2, b2) are adjacent if a1 is adjacent to a2 in A, and b1 to b2 in
//! B.
//!
//! Self-loops of the factors are dropped first, and each edge counts once, in whatever direction and however often it
//! occurs. Every pair of an edge of A and an edge of B then gives two different edges, (a1,b1)-(a2,b2) and
//! (a1,b2)-(a2,b1). So with m(A) and m(B) edges in the factors there are 2·m(A)·m(B) edges, and triangles(A ⊗ B) =
//! 6·triangles(A)·triangles(B). Products are graphs of any size whose answers are known. The factors stay in memory, at
//! 16 bytes per edge.

use std::fmt;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use crate::error::{At, Error, Result};
use crate::formats::{Input, Watch, each_edge};

/// The tensor product of two simple graphs (without self-loops and repeated edges).
#[derive(Debug, Clone, PartialEq)]
pub struct Product {
    a: Factor,
    b: Factor,
}

#[derive(Debug, Clone, PartialEq)]
struct Factor {
    name: String,
    /// The edges of the factor in sorted order, each with the smaller id first.
    edges: Arc<[[u64; 2]]>,
    /// Number of vertices: the largest id plus 1, including ids that occur only in self-loops.
    vertices: u64,
}

impl Product {
    /// Reads both factors of the product.
    ///
    /// # Errors
    /// Bad input if a factor can't be read, or if the product has 2^64 ids or more, or 2^59 edges or more.
    pub fn read(a: &Input, b: &Input, watch: &dyn Watch) -> Result<Product> {
        let product = Product { a: Factor::read(a, watch)?, b: Factor::read(b, watch)? };
        let ids = product.a.vertices.checked_mul(product.b.vertices);
        let edges = (product.a.edges.len() as u64).checked_mul(2 * product.b.edges.len() as u64);
        if ids.is_none() || edges.is_none_or(|edges| edges > u64::MAX / 32) {
            let found = format!("{} vertices times {}", product.a.vertices, product.b.vertices);
            let remedy = "take smaller factors, or ones with dense ids";
            return Err(Error::input(a.name(), At::File, "factors whose product has ids below 2^64", found, remedy));
        }
        Ok(product)
    }

    /// Returns the number of edges of the product, 2·m(A)·m(B).
    pub fn edges(&self) -> u64 {
        2 * self.a.edges.len() as u64 * self.b.edges.len() as u64
    }

    /// Returns the number of vertices of the product, n(A)·n(B).
    pub fn vertices(&self) -> u64 {
        self.a.vertices * self.b.vertices
    }

    pub(super) fn bytes(&self) -> u64 {
        16 * (self.a.edges.len() + self.b.edges.len()) as u64
    }

    pub(super) fn hash(&self) -> u64 {
        let mut hasher = Xxh3::new();
        for factor in [&self.a, &self.b] {
            hasher.update(&factor.vertices.to_le_bytes());
            hasher.update(&(factor.edges.len() as u64).to_le_bytes());
            for id in factor.edges.iter().flatten() {
                hasher.update(&id.to_le_bytes());
            }
        }
        hasher.digest()
    }

    /// Fills `out` with the edges from number `first_edge` on. Edge `2·(i·m(B) + j) + k` comes from edge i of A and
    /// edge j of B.
    #[inline(always)]
    pub(super) fn fill<T>(&self, first_edge: u64, out: &mut [[T; 2]], narrow: impl Fn(u64) -> T) {
        let n = self.b.vertices;
        let row = 2 * self.b.edges.len() as u64;
        let mut done = 0;
        while done < out.len() && row > 0 {
            let edge = first_edge + done as u64;
            let [a1, a2] = self.a.edges[(edge / row) as usize].map(|id| id * n);
            let from = edge % row;
            let run = (row - from).min((out.len() - done) as u64);
            for (k, slot) in (from..from + run).zip(&mut out[done..]) {
                let [b1, b2] = self.b.edges[(k / 2) as usize];
                let (b1, b2) = if k % 2 == 0 { (b1, b2) } else { (b2, b1) };
                *slot = [narrow(a1 + b1), narrow(a2 + b2)];
            }
            done += run as usize;
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "product of {} and {}", self.a.name, self.b.name)
    }
}

impl Factor {
    fn read(input: &Input, watch: &dyn Watch) -> Result<Factor> {
        let (mut edges, _) = each_edge(input, vec![Vec::new()], watch, |edges, ends| {
            edges.push(ends);
            Ok(())
        })?;
        Ok(Factor::new(input.name(), edges.pop().unwrap_or_default()))
    }

    fn new(name: String, mut edges: Vec<[u64; 2]>) -> Factor {
        let vertices = edges.iter().flatten().max().map_or(0, |id| id.saturating_add(1));
        edges.retain(|[u, v]| u != v);
        for [u, v] in &mut edges {
            (*u, *v) = (*u.min(v), *u.max(v));
        }
        edges.sort_unstable();
        edges.dedup();
        Factor { name, edges: edges.into(), vertices }
    }
}
