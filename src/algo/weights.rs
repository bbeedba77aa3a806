//! The key `weights` of an algorithm's table in a job file. It selects the edge weights of the input, or random or
//! constant weights.

use crate::formats::WeightType;
use crate::graph::GraphWeights;
use crate::graph::weights::drawn::DrawnWeights;
use crate::jobfile::{Diagnostics, Field};
use serde::{Deserialize, Serialize};

/// Keys that the value of `weights` may contain if it is a table.
const KEYS: [&str; 3] = ["uniform", "seed", "unit"];
const FORMS: &str =
    "expected \"file\", { uniform = [1, 1000], seed = 1 }, { uniform = [0.0, 1.0], seed = 1 } or { unit = true }";

/// Origin of the edge weights that a task uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WeightSource {
    /// The edge weights of the input.
    #[default]
    File,
    /// Random or constant edge weights.
    Drawn(DrawnWeights),
}

impl WeightSource {
    /// Parses the key `weights` of an algorithm's table, whose value is `"file"` or a table. If there are mistakes,
    /// reports them to `diagnostics` and returns `None`.
    pub fn parse(field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<WeightSource> {
        if field.is_table() {
            return drawn(field, diagnostics).map(WeightSource::Drawn);
        }
        if field.is_string() {
            return field.choice(&[("file", WeightSource::File)], diagnostics);
        }
        field.error(FORMS, diagnostics);
        None
    }

    /// Returns the number type of the edge weights. `stored` describes the weights of the input, if they are known.
    pub fn kind(self, stored: Option<GraphWeights>) -> WeightType {
        match self {
            WeightSource::Drawn(drawn) => drawn.kind(),
            // A graph without edges has no weights, so any type is correct.
            WeightSource::File => stored.map_or(WeightType::U32, |weights| weights.kind),
        }
    }

    /// Returns an upper bound on the edge weights, as the number that is stored for a weight. It is 2^32 - 1 if the
    /// weights come from the input.
    pub fn largest(self) -> u32 {
        match self {
            WeightSource::Drawn(drawn) => drawn.largest(),
            WeightSource::File => u32::MAX,
        }
    }
}

fn drawn(field: &Field<'_>, diagnostics: &mut Diagnostics) -> Option<DrawnWeights> {
    let (table, section) = field.section(diagnostics)?;
    let mut known = true;
    for entry in table.entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
        diagnostics.error(&entry.place, format!("{}: unknown key {:?}; {FORMS}", field.name, entry.key));
        known = false;
    }
    let (uniform, seed, unit) = (section.get("uniform"), section.get("seed"), section.get("unit"));
    match (uniform, unit) {
        (Some(uniform), None) => {
            let seed = seed.map_or(Some(1), |seed| seed.integer(0..=u64::MAX, diagnostics));
            uniform_of(&uniform, seed?, diagnostics).filter(|_| known)
        }
        (None, Some(unit)) => {
            let is_on = unit.boolean(diagnostics)?;
            if !is_on || seed.is_some() {
                field.error(FORMS, diagnostics);
                return None;
            }
            known.then_some(DrawnWeights::Unit)
        }
        _ => {
            field.error(FORMS, diagnostics);
            None
        }
    }
}

fn uniform_of(uniform: &Field<'_>, seed: u64, diagnostics: &mut Diagnostics) -> Option<DrawnWeights> {
    let wrong =
        "expected the smallest and the largest weight, both at least 0: whole numbers below 2^32, or f32 decimals";
    let drawn = match uniform.pair(diagnostics)? {
        [(least, true), (most, true)] => {
            let number = |number: f64| (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32);
            let range = number(least).zip(number(most)).filter(|(least, most)| least <= most);
            range.map(|(least, most)| DrawnWeights::Whole { least, most, seed })
        }
        [(least, _), (most, _)] => {
            let number = |number: f64| (number >= 0.0 && (number as f32).is_finite()).then_some(number as f32 + 0.0);
            let range = number(least).zip(number(most)).filter(|(least, most)| least <= most);
            range.map(|(least, most)| DrawnWeights::Decimal { least, most, seed })
        }
    };
    if drawn.is_none() {
        uniform.error(wrong, diagnostics);
    }
    drawn
}
