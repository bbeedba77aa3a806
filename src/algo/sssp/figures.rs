//! Charts and sentences about shortest paths, for the report.

use super::output::{SsspDetails, SsspOutput};
use super::path::Path;
use crate::algo::searches::figures::{seconds_by_name, speed};
use crate::algo::searches::results::SearchDetails;
use crate::chart::{Axis, Figure, Line, Marks, Style, Unit};
use crate::graph::ids::InputId;

/// Maximum number of vertices that the sentence about a path names.
const PATH: usize = 20;

/// Returns the charts of all searches for the report: their speeds, their phases, and the distribution of distances
/// from the first source.
pub(super) fn figures(output: &SsspOutput, details: &SearchDetails<SsspDetails>) -> Vec<Figure> {
    let first = output.sources.first().zip(details.sources.first());
    let distances = first.and_then(|(output, details)| distances(output.source, details));
    speed(details).into_iter().chain(phases(&details.sources)).chain(distances).collect()
}

/// Returns a sentence that describes the path from a source to the target.
pub(super) fn path_sentence(source: InputId, path: &Path) -> String {
    let target = path.target;
    let Some(length) = path.length else {
        return format!("No path leads from vertex {source} to vertex {target}.");
    };
    let mut named: Vec<String> = path.vertices.iter().take(PATH).map(InputId::to_string).collect();
    if path.vertices.len() > PATH {
        named.push("…".to_owned());
    }
    let way = named.join(" → ");
    format!("The shortest path from vertex {source} to vertex {target} has length {length}: {way}.")
}

/// Returns a chart of the number of vertices by distance from a source, or `None` if the details contain no
/// distribution of distances.
fn distances(source: InputId, details: &SsspDetails) -> Option<Figure> {
    if details.distances.is_empty() {
        return None;
    }
    let points = details.distances.iter().map(|bin| (bin.to, bin.vertices as f64)).collect();
    let caption = "Vertices by distance. Each step begins where the previous one ends.";
    let axes = [Axis::linear("distance", Unit::Number), Axis::linear("vertices", Unit::Count)];
    let marks = Marks::Lines(vec![Line::new("vertices", Style::Area, points)]);
    Some(Figure::new(format!("Distances from source {source}"), caption, axes, marks))
}

/// Returns charts of the duration in seconds and the number of rounds of each kind of phase (push, pull, ...), summed
/// over all sources.
fn phases(sources: &[SsspDetails]) -> Vec<Figure> {
    let mut kinds: Vec<(String, [f64; 2])> = Vec::new();
    for phase in sources.iter().flat_map(|source| &source.phases) {
        let [seconds, rounds] = [phase.seconds, phase.rounds as f64];
        match kinds.iter_mut().find(|(name, _)| *name == phase.kind) {
            Some((_, sums)) => *sums = [sums[0] + seconds, sums[1] + rounds],
            None => kinds.push((phase.kind.clone(), [seconds, rounds])),
        }
    }
    if kinds.is_empty() {
        return Vec::new();
    }
    let names: Vec<String> = kinds.iter().map(|(name, _)| name.clone()).collect();
    let of = |at: usize| kinds.iter().map(|(_, sums)| sums[at]).collect::<Vec<f64>>();
    let caption = format!("Seconds of each kind of step, over {} searches.", sources.len());
    let mut figures = vec![seconds_by_name("Phases", &caption, "kind", names.clone(), vec![("time".into(), of(0))])];
    if of(1).iter().any(|&rounds| rounds > 0.0) {
        let caption =
            format!("Rounds of each kind of step, over {} searches. A step that pushes takes a bucket.", sources.len());
        let rounds = seconds_by_name("Rounds", &caption, "kind", names, vec![("rounds".into(), of(1))]);
        figures.push(Figure { x: Axis::linear("rounds", Unit::Count), ..rounds });
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::super::distances::Distance;
    use super::super::search::SearchPhase;
    use super::*;

    #[test]
    fn phases_are_summed_over_searches() {
        let phase = |kind: &str, seconds| SearchPhase { kind: kind.to_owned(), rounds: 3, relaxations: 0, seconds };
        let source = |phases| SsspDetails { seconds: 1.0, teps: 1.0, relaxations: 0, phases, distances: Vec::new() };
        let sources = [source(vec![phase("push", 1.0), phase("pull", 2.0)]), source(vec![phase("push", 0.5)])];
        let csv: String = phases(&sources).iter().map(|figure| figure.table().csv()).collect();
        assert_eq!(csv, "kind,time (s)\npush,1.5\npull,2\nkind,rounds\npush,6\npull,3\n");
        assert_eq!(phases(&[]), []);
    }

    #[test]
    fn a_sentence_has_the_path_or_says_that_there_is_none() {
        let vertices = [1, 3, 7].map(InputId::Number).to_vec();
        let path = Path { target: InputId::Number(7), length: Some(Distance::Decimal(2.5)), edges: 2, vertices };
        let sentence = path_sentence(InputId::Number(1), &path);
        assert_eq!(sentence, "The shortest path from vertex 1 to vertex 7 has length 2.5: 1 → 3 → 7.");
        let sentence = path_sentence(InputId::Number(1), &Path::none(InputId::Number(7)));
        assert_eq!(sentence, "No path leads from vertex 1 to vertex 7.");
    }
}
