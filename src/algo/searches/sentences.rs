//! Results of searches in sentences: how far each source reaches, and the path that was asked for.

use crate::algo::Answer;
use crate::chart::unit::group;
use serde_json::Value;

/// Most sources with a sentence of their own.
const SOURCES: usize = 5;
/// Most vertices of a path that are named.
const PATH: usize = 20;

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

/// Returns a count with its noun, such as `1 edge` and `2,000 edges`.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", group(&count.to_string()), if count == 1 { one } else { many })
}

/// Returns sentences about what of these a result has: `sources` with `reached`, `depth`, `max_distance` and `path`.
pub fn of_result(result: &Value) -> Vec<String> {
    let sources = result["sources"].as_array().map_or(&[][..], Vec::as_slice);
    let mut all: Vec<String> = match sources.len() <= SOURCES {
        true => sources.iter().filter_map(reach).collect(),
        false => together(sources).into_iter().collect(),
    };
    all.extend(sources.iter().take(SOURCES).filter_map(|source| path(&source["source"], &source["path"])));
    all
}

fn reach(source: &Value) -> Option<String> {
    let reached = counted(source["reached"].as_u64()?, "vertex", "vertices");
    let farthest = match (source["depth"].as_u64(), &source["max_distance"]) {
        (Some(steps), _) => format!(", the farthest in {}", counted(steps, "step", "steps")),
        (None, Value::Number(distance)) => format!(", the farthest at distance {}", group(&distance.to_string())),
        _ => String::new(),
    };
    Some(format!("A search from vertex {} reaches {reached}{farthest}.", source["source"]))
}

fn together(sources: &[Value]) -> Option<String> {
    let all = |key: &str| sources.iter().filter_map(|source| source[key].as_u64()).collect::<Vec<_>>();
    let (reached, depths) = (all("reached"), all("depth"));
    let (least, most) = (reached.iter().min()?, *reached.iter().max()?);
    let range = match *least == most {
        true => format!("each reach {}", counted(most, "vertex", "vertices")),
        false => format!("reach {} to {}", group(&least.to_string()), counted(most, "vertex", "vertices")),
    };
    let deepest = depths.iter().max().map(|steps| format!(", the farthest in {}", counted(*steps, "step", "steps")));
    let searches = group(&sources.len().to_string());
    Some(format!("{searches} searches {range}{}.", deepest.unwrap_or_default()))
}

fn path(source: &Value, path: &Value) -> Option<String> {
    let (target, vertices) = (path.get("target")?, path["vertices"].as_array().map_or(&[][..], Vec::as_slice));
    if vertices.is_empty() {
        return Some(format!("No path leads from vertex {source} to vertex {target}."));
    }
    let mut named: Vec<String> = vertices.iter().take(PATH).map(Value::to_string).collect();
    if vertices.len() > PATH {
        named.push("…".to_owned());
    }
    let way = named.join(" → ");
    Some(format!("The shortest path from vertex {source} to vertex {target} has length {}: {way}.", path["length"]))
}

#[cfg(test)]
mod tests {
    use super::of_result;
    use serde_json::json;

    #[test]
    fn sources_are_told_one_by_one_or_together() {
        let source = |id: u64, reached: u64| json!({ "source": id, "reached": reached, "depth": 3 });
        let few = of_result(&json!({ "sources": [source(5, 1000), source(1, 1)] }));
        assert_eq!(few[0], "A search from vertex 5 reaches 1,000 vertices, the farthest in 3 steps.");
        assert_eq!(few[1], "A search from vertex 1 reaches 1 vertex, the farthest in 3 steps.");
        let many: Vec<_> = (1..=64).map(|id| source(id, id)).collect();
        assert_eq!(
            of_result(&json!({ "sources": many })),
            ["64 searches reach 1 to 64 vertices, the farthest in 3 steps."]
        );
        assert_eq!(of_result(&json!({ "levels": 3 })), Vec::<String>::new());
    }

    #[test]
    fn a_path_is_told_or_that_there_is_none() {
        let to = |path| of_result(&json!({ "sources": [{ "source": 1, "path": path }] }));
        let path = to(json!({ "target": 7, "length": 2.5, "vertices": [1, 3, 7] }));
        assert_eq!(path, ["The shortest path from vertex 1 to vertex 7 has length 2.5: 1 → 3 → 7."]);
        assert_eq!(to(json!({ "target": 7, "vertices": [] })), ["No path leads from vertex 1 to vertex 7."]);
    }
}
