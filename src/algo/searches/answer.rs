//! The answer of searches in words.

use crate::algo::Answer;
use serde_json::Value;

/// Returns the answer of the table `name`: of how many searches, how fast by the harmonic mean, and whether they were checked.
pub fn answer(name: &str, found: &Value, how: &Value) -> Answer {
    let sources = found["sources"].as_array().map_or(0, Vec::len);
    let teps = how["harmonic_mean_teps"].as_f64().unwrap_or(0.0);
    let validated = if found["validated"] == true { "validated" } else { "not validated" };
    let of_sources = if sources == 1 { "source" } else { "sources" };
    Answer {
        main: format!("{name} {sources} {of_sources}"),
        more: format!("{:.6} GTEPS by harmonic mean  {validated}  searched", teps / 1e9),
        block: None,
    }
}
