//! Charts of a ranking: its phases, and the rounds of its method.

use crate::algo::listrank::output::{ListRankDetails, Phases};
use crate::algo::listrank::rounds::Round;
use crate::chart::{Axis, Bars, Figure, Line, Marks, Style, Unit};

/// Maximum number of rounds that are drawn as bars.
const BARS: usize = 40;

/// Returns the charts of a ranking: its phases, and its rounds if it has any.
pub(super) fn figures(details: &ListRankDetails) -> Vec<Figure> {
    let Phases { read, check, rank, fetch } = details.phases;
    let phases = [("read", read), ("check", check), ("rank", rank), ("fetch", fetch)];
    let phases = phases.into_iter().map(|(name, seconds)| (name.to_owned(), seconds));
    let caption = "Seconds of each phase of the last trial, in the order in which they ran.";
    let mut figures = vec![bars("Phases", caption, "phase", phases)];
    if !details.rounds.is_empty() {
        figures.extend([elements(&details.rounds), times(&details.rounds)]);
    }
    figures
}

fn elements(rounds: &[Round]) -> Figure {
    let caption = "What each round of the method takes, by logarithm: all elements, or the links between sublists.";
    Figure {
        title: "Rounds".into(),
        caption: caption.into(),
        x: Axis::linear("round", Unit::Count),
        y: Axis::log("elements or links", Unit::Count),
        marks: Marks::Lines(by_step(rounds, |round| round.elements as f64)),
    }
}

fn times(rounds: &[Round]) -> Figure {
    let (title, caption) = ("Time of rounds", "Seconds of each round of the last trial.");
    if rounds.len() > BARS {
        return Figure {
            title: title.into(),
            caption: caption.into(),
            x: Axis::linear("round", Unit::Count),
            y: Axis::linear("time", Unit::Seconds),
            marks: Marks::Lines(by_step(rounds, |round| round.seconds)),
        };
    }
    let named = rounds.iter().enumerate().map(|(at, round)| (format!("{} {}", at + 1, round.step), round.seconds));
    bars(title, caption, "round", named)
}

/// Returns one line of dots for each kind of round. The x coordinate is the number of the round.
fn by_step(rounds: &[Round], value: impl Fn(&Round) -> f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (at, round) in rounds.iter().enumerate() {
        let point = ((at + 1) as f64, value(round));
        match lines.iter_mut().find(|line| line.name == round.step) {
            Some(line) => line.points.push(point),
            None => lines.push(Line::new(&round.step, Style::Dots, vec![point])),
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

    #[test]
    fn phases_and_rounds_are_in_the_order_in_which_they_ran() {
        let round = |step: &'static str, elements, seconds| Round { step: step.into(), elements, seconds };
        let phases = Phases { check: 0.0, fetch: 0.5, rank: 2.0, read: 1.0 };
        let of = |rounds| figures(&ListRankDetails { method: "ruling-set".into(), bytes: 0, phases, rounds });
        let few = of(vec![round("walk", 1000, 1.5), round("follow links", 10, 0.125), round("rank", 1000, 0.25)]);
        let csv: Vec<String> = few.iter().map(|figure| figure.table().csv()).collect();
        assert_eq!(csv[0], "phase,time (s)\nread,1\ncheck,0\nrank,2\nfetch,0.5\n");
        assert_eq!(csv[1], "round,walk,follow links,rank\n1,1000,,\n2,,10,\n3,,,1000\n");
        assert_eq!(csv[2], "round,time (s)\n1 walk,1.5\n2 follow links,0.125\n3 rank,0.25\n");
        let many = of((0..100).map(|_| round("eliminate", 7, 0.5)).collect());
        assert!(many.iter().skip(1).all(|figure| figure.table().rows.len() == 100), "{many:?}");
    }
}
