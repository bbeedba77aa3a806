//! Pictures of a ranking: its phases, and the rounds of its method.

use crate::chart::{Axis, Bars, Figure, Line, Marks, Style, Unit};
use serde_json::Value;

/// Names of the phases, in the order in which they run.
const PHASES: [&str; 4] = ["read", "check", "rank", "fetch"];
/// Most rounds that are drawn with a bar each.
const BARS: usize = 40;

/// Returns the pictures of a ranking.
pub(super) fn of_result(result: &Value) -> Vec<Figure> {
    let phases = PHASES.iter().filter_map(|&name| Some((name.to_owned(), result["phases"][name].as_f64()?)));
    let phases =
        bars("Phases", "Seconds of each phase of the last trial, in the order in which they ran.", "phase", phases);
    let rounds: Vec<Round<'_>> = result["rounds"].as_array().into_iter().flatten().filter_map(round).collect();
    let mut figures = vec![phases];
    if !rounds.is_empty() {
        figures.extend([elements(&rounds), times(&rounds)]);
    }
    figures
}

/// The step, the elements and the seconds of a round.
type Round<'a> = (&'a str, f64, f64);

fn round(round: &Value) -> Option<Round<'_>> {
    Some((round["step"].as_str()?, round["elements"].as_f64()?, round["seconds"].as_f64()?))
}

fn elements(rounds: &[Round<'_>]) -> Figure {
    let caption = "What each round of the method takes, by logarithm: all elements, or the links between sublists.";
    Figure {
        title: "Rounds".into(),
        caption: caption.into(),
        x: Axis::linear("round", Unit::Count),
        y: Axis::log("elements or links", Unit::Count),
        marks: Marks::Lines(by_step(rounds, |(_, elements, _)| elements)),
    }
}

fn times(rounds: &[Round<'_>]) -> Figure {
    let (title, caption) = ("Time of rounds", "Seconds of each round of the last trial.");
    if rounds.len() > BARS {
        return Figure {
            title: title.into(),
            caption: caption.into(),
            x: Axis::linear("round", Unit::Count),
            y: Axis::linear("time", Unit::Seconds),
            marks: Marks::Lines(by_step(rounds, |(_, _, seconds)| seconds)),
        };
    }
    let named = rounds.iter().enumerate().map(|(at, (step, _, seconds))| (format!("{} {step}", at + 1), *seconds));
    bars(title, caption, "round", named)
}

/// Returns dots by the number of the round, with a name for each step.
fn by_step(rounds: &[Round<'_>], value: impl Fn(Round<'_>) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, &round) in rounds.iter().enumerate() {
        let point = ((at + 1) as f64, value(round));
        match lines.iter_mut().find(|line| line.name == round.0) {
            Some(line) => line.points.push(point),
            None => lines.push(Line::new(round.0, Style::Dots, vec![point])),
        }
    }
    lines
}

fn bars(title: &str, caption: &str, of: &str, named: impl Iterator<Item = (String, f64)>) -> Figure {
    let (names, seconds) = named.unzip();
    Figure {
        title: title.into(),
        caption: caption.into(),
        x: Axis::linear("time", Unit::Seconds),
        y: Axis::linear(of, Unit::Text),
        marks: Marks::Bars(Bars { names, parts: vec![("time".into(), seconds)] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn phases_and_rounds_stand_in_the_order_in_which_they_ran() {
        let round =
            |step: &str, elements: u64, seconds: f64| json!({ "step": step, "elements": elements, "seconds": seconds });
        let result = json!({
            "phases": { "check": 0.0, "fetch": 0.5, "rank": 2.0, "read": 1.0 },
            "rounds": [round("walk", 1000, 1.5), round("follow links", 10, 0.125), round("rank", 1000, 0.25)],
        });
        let csv: Vec<String> = of_result(&result).iter().map(|figure| figure.table().csv()).collect();
        assert_eq!(csv[0], "phase,time (s)\nread,1\ncheck,0\nrank,2\nfetch,0.5\n");
        assert_eq!(csv[1], "round,walk,follow links,rank\n1,1000,,\n2,,10,\n3,,,1000\n");
        assert_eq!(csv[2], "round,time (s)\n1 walk,1.5\n2 follow links,0.125\n3 rank,0.25\n");
        let many: Vec<Value> = (0..100).map(|_| round("eliminate", 7, 0.5)).collect();
        let many = of_result(&json!({ "rounds": many }));
        assert!(many.iter().skip(1).all(|figure| figure.table().rows.len() == 100), "{many:?}");
        assert!(of_result(&Value::Null).iter().all(Figure::is_empty));
    }
}
