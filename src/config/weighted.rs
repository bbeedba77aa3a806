//! Reads `random`, `rmat`, `ssca2` and `grid` of `[input]`: generated graphs with weights.

use super::inline::InlineTable;
use crate::generate::{SCALES, Shape, Ssca2, WEIGHTS, WeightedSpec, edges_of};
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::field::Field;
use std::ops::RangeInclusive;

const WORDS: RangeInclusive<u32> = 0..=u32::MAX;
const NUMBERS: RangeInclusive<u64> = 0..=u64::MAX;

/// Parameters that all kinds of generated graphs with weights have.
const COMMON: [&str; 3] = ["min_weight", "max_weight", "seed"];
const RANDOM: [&str; 2] = ["vertices", "edges"];
const RMAT: [&str; 6] = ["scale", "edges", "a", "b", "c", "d"];
const SSCA2: [&str; 5] = ["vertices", "largest_clique", "one_way", "parallel", "between"];
const GRID: [&str; 2] = ["rows", "columns"];

/// Suggested fix in the message about a missing parameter that has no default.
const ADD: &str = "add it";

/// Function that reads the parameters of one kind of graph. Returns `None` after a mistake.
type ReadShape = fn(&mut InlineTable<'_, '_>) -> Option<Shape>;

/// Reads the parameters of a generated weighted graph. `kind` is `random`, `rmat`, `ssca2` or `grid`. Returns `None`
/// after a mistake.
pub(super) fn read(kind: &str, field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<WeightedSpec> {
    let (own, shape): (&[&str], ReadShape) = match kind {
        "random" => (&RANDOM, random),
        "rmat" => (&RMAT, rmat),
        "ssca2" => (&SSCA2, ssca2),
        _ => (&GRID, grid),
    };
    let mut table = InlineTable::of(field, &[own, &COMMON].concat(), diagnostics)?;
    let least = table.number("min_weight", WORDS, Ok(*WEIGHTS.start()));
    let most = table.number("max_weight", WORDS, Ok(*WEIGHTS.end()));
    let seed = table.number("seed", NUMBERS, Ok(1));
    let shape = shape(&mut table);
    let spec = WeightedSpec { shape: shape?, least: least?, most: most?, seed: seed? };
    // Limits that depend on several parameters are checked once all of them are read.
    spec.check().map_err(|e| table.error(&e.to_string())).ok()?;
    Some(spec)
}

fn random(table: &mut InlineTable<'_, '_>) -> Option<Shape> {
    let vertices = table.number("vertices", NUMBERS, Err(ADD))?;
    let edges = table.number("edges", NUMBERS, Ok(edges_of(vertices)))?;
    Some(Shape::Random { vertices, edges })
}

fn rmat(table: &mut InlineTable<'_, '_>) -> Option<Shape> {
    let scale = table.number("scale", SCALES, Err(ADD))?;
    let edges = table.number("edges", NUMBERS, Ok(edges_of(1 << scale)));
    let [a, b, c, d] = Shape::QUADRANTS;
    let quadrants = [("a", a), ("b", b), ("c", c), ("d", d)];
    let [a, b, c, d] = quadrants.map(|(key, default)| table.other(key, default, Field::probability));
    let shape = Shape::rmat(scale, edges?, [a?, b?, c?, d?]);
    shape.map_err(|e| table.error(&e.to_string())).ok()
}

fn ssca2(table: &mut InlineTable<'_, '_>) -> Option<Shape> {
    let usual = Ssca2::of(table.number("vertices", NUMBERS, Err(ADD))?);
    let largest_clique = table.number("largest_clique", NUMBERS, Ok(usual.largest_clique));
    let parallel = table.number("parallel", WORDS, Ok(usual.parallel));
    let one_way = table.other("one_way", usual.one_way, Field::probability);
    let between = table.other("between", usual.between, Field::probability);
    let (largest_clique, one_way, parallel, between) = (largest_clique?, one_way?, parallel?, between?);
    Some(Shape::Ssca2(Ssca2 { vertices: usual.vertices, largest_clique, one_way, parallel, between }))
}

fn grid(table: &mut InlineTable<'_, '_>) -> Option<Shape> {
    let (rows, columns) = (table.number("rows", NUMBERS, Err(ADD)), table.number("columns", NUMBERS, Err(ADD)));
    Some(Shape::Grid { rows: rows?, columns: columns? })
}
