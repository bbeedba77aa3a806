//! `random`, `rmat`, `ssca2` and `grid` of `[input]`: graphs with weights that the job generates.

use super::tables;
use crate::generate::{SCALES, Shape, Ssca2, WEIGHTS, WeightedSpec, edges_of};
use crate::jobfile::diagnostics::Diagnostics;
use crate::jobfile::field::{Field, Section};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Keys of `[input]` that name such a graph.
pub(super) const KINDS: [&str; 4] = ["random", "rmat", "ssca2", "grid"];

const WORDS: RangeInclusive<u32> = 0..=u32::MAX;
const NUMBERS: RangeInclusive<u64> = 0..=u64::MAX;

/// Keys that every kind has.
const COMMON: [&str; 3] = ["min_weight", "max_weight", "seed"];
const RANDOM: [&str; 2] = ["vertices", "edges"];
const RMAT: [&str; 6] = ["scale", "edges", "a", "b", "c", "d"];
const SSCA2: [&str; 5] = ["vertices", "largest_clique", "one_way", "parallel", "between"];
const GRID: [&str; 2] = ["rows", "columns"];

/// Reads the parameters of a graph of this kind.
pub(super) fn read(kind: &str, field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<WeightedSpec> {
    let (table, section) = field.section(diagnostics)?;
    let own = match kind {
        "random" => &RANDOM[..],
        "rmat" => &RMAT,
        "ssca2" => &SSCA2,
        _ => &GRID,
    };
    tables::check_keys(table, &field.name, &[own, &COMMON].concat(), diagnostics);
    let mut reader = Reader { field, section: &section, diagnostics };
    let least = reader.number("min_weight", WORDS, Some(*WEIGHTS.start()));
    let most = reader.number("max_weight", WORDS, Some(*WEIGHTS.end()));
    let seed = reader.number("seed", NUMBERS, Some(1));
    let shape = match kind {
        "random" => reader.random(),
        "rmat" => reader.rmat(),
        "ssca2" => reader.ssca2(),
        _ => reader.grid(),
    };
    let spec = WeightedSpec { shape: shape?, least: least?, most: most?, seed: seed? };
    let checked = spec.check();
    checked.map_err(|e| field.error(&e.to_string(), diagnostics)).ok()?;
    Some(spec)
}

/// A reader of the values of one table.
struct Reader<'a, 'f, 'd> {
    field: &'a Field<'f>,
    section: &'a Section<'f>,
    diagnostics: &'d mut Diagnostics,
}

impl Reader<'_, '_, '_> {
    /// Reads an integer. Bounds that depend on the kind are checked later, together with all parameters.
    fn number<T>(&mut self, key: &str, range: RangeInclusive<T>, default: Option<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        match self.section.get(key) {
            Some(field) => field.integer(range, self.diagnostics),
            None => {
                if default.is_none() {
                    self.field.error(&format!("{key} is missing: add it"), self.diagnostics);
                }
                default
            }
        }
    }

    fn probability(&mut self, key: &str, default: f64) -> Option<f64> {
        self.section.get(key).map_or(Some(default), |field| field.probability(self.diagnostics))
    }

    fn random(&mut self) -> Option<Shape> {
        let vertices = self.number("vertices", NUMBERS, None)?;
        let edges = self.number("edges", NUMBERS, Some(edges_of(vertices)))?;
        Some(Shape::Random { vertices, edges })
    }

    fn rmat(&mut self) -> Option<Shape> {
        let scale = self.number("scale", SCALES, None)?;
        let edges = self.number("edges", NUMBERS, Some(edges_of(1 << scale)));
        let [a, b, c, d] = Shape::QUADRANTS;
        let quadrants = [("a", a), ("b", b), ("c", c), ("d", d)].map(|(key, default)| self.probability(key, default));
        let [a, b, c, d] = quadrants;
        let shape = Shape::rmat(scale, edges?, [a?, b?, c?, d?]);
        shape.map_err(|e| self.field.error(&e.to_string(), self.diagnostics)).ok()
    }

    fn ssca2(&mut self) -> Option<Shape> {
        let usual = Ssca2::of(self.number("vertices", NUMBERS, None)?);
        let largest_clique = self.number("largest_clique", NUMBERS, Some(usual.largest_clique));
        let parallel = self.number("parallel", WORDS, Some(usual.parallel));
        let one_way = self.probability("one_way", usual.one_way);
        let between = self.probability("between", usual.between);
        Some(Shape::Ssca2(Ssca2 {
            vertices: usual.vertices,
            largest_clique: largest_clique?,
            one_way: one_way?,
            parallel: parallel?,
            between: between?,
        }))
    }

    fn grid(&mut self) -> Option<Shape> {
        let (rows, columns) = (self.number("rows", NUMBERS, None), self.number("columns", NUMBERS, None));
        Some(Shape::Grid { rows: rows?, columns: columns? })
    }
}
