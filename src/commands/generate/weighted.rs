//! `gpugraph generate` for graphs with weights.

use super::write;
use crate::commands::cli::{GridArgs, PairsArgs, RmatArgs, Ssca2Args, WeightedArgs};
use crate::error::Result;
use crate::generate::{Generator, Shape, Ssca2, Weighted, WeightedSpec, edges_of};

pub(super) fn random(args: &PairsArgs) -> Result<()> {
    let vertices = args.vertices;
    let edges = args.edges.unwrap_or(edges_of(vertices));
    make(&args.more, || Ok(Shape::Random { vertices, edges }))
}

pub(super) fn rmat(args: &RmatArgs) -> Result<()> {
    let RmatArgs { scale, a, b, c, d, .. } = *args;
    let edges = args.edges.unwrap_or(edges_of(1u64.checked_shl(scale).unwrap_or(u64::MAX)));
    make(&args.more, || Shape::rmat(scale, edges, [a, b, c, d]))
}

pub(super) fn ssca2(args: &Ssca2Args) -> Result<()> {
    let usual = Ssca2::of(args.vertices);
    let parameters = Ssca2 {
        vertices: args.vertices,
        largest_clique: args.largest_clique.unwrap_or(usual.largest_clique),
        one_way: args.one_way.unwrap_or(usual.one_way),
        parallel: args.parallel.unwrap_or(usual.parallel),
        between: args.between.unwrap_or(usual.between),
    };
    make(&args.more, || Ok(Shape::Ssca2(parameters)))
}

pub(super) fn grid(args: &GridArgs) -> Result<()> {
    make(&args.more, || Ok(Shape::Grid { rows: args.rows, columns: args.columns }))
}

fn make(args: &WeightedArgs, shape: impl FnOnce() -> Result<Shape>) -> Result<()> {
    let WeightedArgs { min_weight, max_weight, seed, .. } = *args;
    write(&args.output, || {
        let spec = WeightedSpec { shape: shape()?, least: min_weight, most: max_weight, seed };
        Weighted::new(spec).map(Generator::Weighted)
    })
}
