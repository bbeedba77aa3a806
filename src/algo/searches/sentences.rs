//! Describes the results of searches as text: the answer line, the Graph500 statistics block, and sentences.

use super::graph500::{Graph500Kernel, energy_lines};
use super::results::{Farthest, SearchDetails, SearchOutput, SourceFigures};
use crate::algo::Answer;
use crate::chart::unit::group;

/// Maximum number of searches that are described by one sentence each.
pub const SOURCES: usize = 5;

/// Returns the answer line of the table `name`: the number of searches, the harmonic mean of their speeds, and whether
/// trees were checked. `block` is text that is printed after the answers of all tables.
pub fn answer<S, D>(
    name: &str,
    output: &SearchOutput<S>,
    details: Option<&SearchDetails<D>>,
    block: Option<String>,
) -> Answer {
    let sources = output.sources.len();
    let teps = details.map_or(0.0, |details| details.harmonic_mean_teps);
    let validated = if output.validated { "validated" } else { "not validated" };
    let of_sources = if sources == 1 { "source" } else { "sources" };
    Answer {
        main: format!("{name} {sources} {of_sources}"),
        more: format!("{:.6} GTEPS by harmonic mean  {validated}  searched", teps / 1e9),
        block,
    }
}

/// Returns the Graph500 statistics of all searches as text, followed by the energy if it was measured. Returns `None`
/// if `details` contains no Graph500 statistics.
pub fn block<D>(kernel: Graph500Kernel, details: &SearchDetails<D>) -> Option<String> {
    let block = details.graph500.as_ref()?.block(kernel)?;
    Some(block + &details.energy.as_ref().map_or_else(String::new, |energy| energy_lines(kernel, energy)))
}

/// Returns a count with its noun, such as `1 edge` or `2,000 edges`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", group(&count.to_string()), if count == 1 { one } else { many })
}

/// Returns one sentence per search, or a single sentence about all of them if there are more than [`SOURCES`].
pub fn of_searches(searches: &[SourceFigures]) -> Vec<String> {
    match searches.len() <= SOURCES {
        true => searches.iter().map(of_search).collect(),
        false => together(searches).into_iter().collect(),
    }
}

fn of_search(SourceFigures { source, reached, farthest, .. }: &SourceFigures) -> String {
    let farthest = match farthest {
        Farthest::Steps(steps) => format!("in {}", counted(*steps, "step", "steps")),
        Farthest::Distance(distance) => format!("at distance {}", group(distance)),
    };
    let reached = counted(*reached, "vertex", "vertices");
    format!("A search from vertex {source} reaches {reached}, the farthest {farthest}.")
}

fn together(searches: &[SourceFigures]) -> Option<String> {
    let reached = || searches.iter().map(|search| search.reached);
    let (least, most) = (reached().min()?, reached().max()?);
    let range = match least == most {
        true => format!("each reach {}", counted(most, "vertex", "vertices")),
        false => format!("reach {} to {}", group(&least.to_string()), counted(most, "vertex", "vertices")),
    };
    let steps = searches.iter().filter_map(|search| match search.farthest {
        Farthest::Steps(steps) => Some(steps),
        Farthest::Distance(_) => None,
    });
    let deepest = steps.max().map(|steps| format!(", the farthest in {}", counted(steps, "step", "steps")));
    let number = group(&searches.len().to_string());
    Some(format!("{number} searches {range}{}.", deepest.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::ids::InputId;

    #[test]
    fn few_searches_have_a_sentence_each_and_many_have_one() {
        let reach = |id: u64, reached| SourceFigures {
            source: InputId::Number(id),
            reached,
            edges: 0,
            farthest: Farthest::Steps(3),
        };
        let few = of_searches(&[reach(5, 1000), reach(1, 1)]);
        assert_eq!(few[0], "A search from vertex 5 reaches 1,000 vertices, the farthest in 3 steps.");
        assert_eq!(few[1], "A search from vertex 1 reaches 1 vertex, the farthest in 3 steps.");
        let many: Vec<_> = (1..=64).map(|id| reach(id, id)).collect();
        assert_eq!(of_searches(&many), ["64 searches reach 1 to 64 vertices, the farthest in 3 steps."]);
        let far = SourceFigures { farthest: Farthest::Distance("1234.5".into()), ..reach(2, 2) };
        assert_eq!(
            of_searches(&[far]),
            ["A search from vertex 2 reaches 2 vertices, the farthest at distance 1,234.5."]
        );
        assert_eq!(of_searches(&[]), Vec::<String>::new());
    }
}
