//! Charts of a list ranking: the times of its phases, and of the rounds of its method.

use crate::algo::listrank::output::{ListRankDetails, Phases};
use crate::algo::listrank::rounds::Round;
use crate::algo::searches::figures::seconds_by_name;
use crate::chart::{Axis, Figure, Line, Marks, Style, Unit};

/// Maximum number of rounds that are drawn as bars.
const BARS: usize = 40;

/// Returns the charts of a list ranking: its phases, and its rounds if it has any.
pub(super) fn figures(details: &ListRankDetails) -> Vec<Figure> {
    let Phases { read, check, rank, fetch } = details.phases;
    let names = ["read", "check", "rank", "fetch"].map(String::from).to_vec();
    let seconds = vec![("time".into(), vec![read, check, rank, fetch])];
    let caption = "Seconds of each phase of the last trial, in the order in which they ran.";
    let mut figures = vec![seconds_by_name("Phases", caption, "phase", names, seconds)];
    if !details.rounds.is_empty() {
        figures.extend([elements(&details.rounds), times(&details.rounds)]);
    }
    figures
}

fn elements(rounds: &[Round]) -> Figure {
    let caption = "What each round of the method takes, by logarithm: all elements, or the links between sublists.";
    let axes = [Axis::linear("round", Unit::Count), Axis::log("elements or links", Unit::Count)];
    Figure::new("Rounds", caption, axes, Marks::Lines(by_step(rounds, |round| round.elements as f64)))
}

fn times(rounds: &[Round]) -> Figure {
    let (title, caption) = ("Time of rounds", "Seconds of each round of the last trial.");
    if rounds.len() > BARS {
        let axes = [Axis::linear("round", Unit::Count), Axis::linear("time", Unit::Seconds)];
        return Figure::new(title, caption, axes, Marks::Lines(by_step(rounds, |round| round.seconds)));
    }
    let names = rounds.iter().enumerate().map(|(at, round)| format!("{} {}", at + 1, round.step)).collect();
    let seconds = rounds.iter().map(|round| round.seconds).collect();
    seconds_by_name(title, caption, "round", names, vec![("time".into(), seconds)])
}

/// Returns one series of dots per kind of round. The x coordinate is the index of the round, from 1 on.
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
