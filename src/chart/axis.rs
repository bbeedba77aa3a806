//! Layout of axes: the positions of values along an axis, and the positions of its ticks.

use super::unit::tick;
use super::{Axis, Scale, Unit};

/// The scale and the ticks of an axis that has a given length in coordinate units.
#[derive(Debug, Clone)]
pub(super) struct AxisLayout {
    scale: ScaleLayout,
    length: f64,
    /// Ticks, each as its position in coordinate units and its text.
    pub ticks: Vec<(f64, String)>,
    /// Name of the unit of the ticks.
    pub unit: String,
    /// Gaps between the linear parts of a scale. Each gap consists of its position, its width, and the difference of
    /// values (such as the duration) that it stands for.
    pub gaps: Vec<(f64, f64, f64)>,
}

#[derive(Debug, Clone)]
enum ScaleLayout {
    /// Linear scale from 0 to the given value.
    Linear(f64),
    /// Logarithmic scale: log10 of its first value, log10 of its last value, and the length, in coordinate units, that
    /// is reserved for 0 before the first value.
    Log(f64, f64, f64),
    /// Linear parts with gaps between them. Each part consists of its first value, its last value and the position at
    /// which it begins. The last field is the length, in coordinate units, of a difference of 1.
    Parts(Vec<(f64, f64, f64)>, f64),
}

/// Maximum number of ticks along an axis.
const TICKS: f64 = 6.0;
/// Length, in coordinate units, that a logarithmic axis reserves for the value 0.
const ZERO: f64 = 44.0;
/// Smallest and largest value that a linear axis supports. Beyond them, floats can't represent the steps between
/// ticks. A larger value is drawn at the end of the axis. A part outside this range is not drawn.
const LENGTHS: [f64; 2] = [1e-290, 1e290];

impl AxisLayout {
    /// Lays out `axis` with the length `length`. Unless the axis has parts, its scale covers all finite `values`.
    pub fn new(axis: &Axis, values: impl Iterator<Item = f64>, length: f64) -> AxisLayout {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        match &axis.scale {
            Scale::Linear => {
                let most = if most < LENGTHS[0] { 0.0 } else { most.min(LENGTHS[1]) };
                let (factor, unit) = axis.unit.along(most);
                let step = factor * step(most / factor);
                // A count has no fractions.
                let step = if axis.unit == Unit::Count { step.max(1.0) } else { step };
                // The last tick is not below the largest value.
                let end = (most / step - 1e-9).ceil().max(1.0) * step;
                let ticks = (0..=(end / step).round() as u32).map(|at| f64::from(at) * step);
                let ticks = ticks.map(|value| (length * value / end, tick(value, factor))).collect();
                AxisLayout { scale: ScaleLayout::Linear(end), length, ticks, unit, gaps: Vec::new() }
            }
            Scale::Log | Scale::LogFromZero => {
                let least = values.iter().copied().filter(|&value| value > 0.0).reduce(f64::min);
                let (low, high) = least.map_or((0.0, 1.0), |least| (least.log10().floor(), most.log10().ceil()));
                let high = high.max(low + 1.0);
                let room = if axis.scale == Scale::LogFromZero { ZERO } else { 0.0 };
                let scale = ScaleLayout::Log(low, high, room);
                let laid = AxisLayout { scale, length, ticks: Vec::new(), unit: String::new(), gaps: Vec::new() };
                let every = ((high - low) / (TICKS + 1.0)).ceil() as usize;
                let powers = (low as i32..=high as i32).step_by(every);
                let powers = powers.map(|power| (10_f64.powi(power), power_of_ten(power)));
                let zero = (room > 0.0).then(|| (0.0, "0".to_owned()));
                let ticks = zero.into_iter().chain(powers);
                let ticks = ticks.filter_map(|(value, text)| Some((laid.place(value)?, text))).collect();
                AxisLayout { ticks, ..laid }
            }
            Scale::Parts(parts) => AxisLayout::parts(axis, parts, length),
        }
    }

    fn parts(axis: &Axis, parts: &[(f64, f64)], length: f64) -> AxisLayout {
        let is_part = |&&(from, to): &&(f64, f64)| -LENGTHS[1] <= from && from <= to && to <= LENGTHS[1];
        let parts: Vec<(f64, f64)> = parts.iter().filter(is_part).copied().collect();
        let all: f64 = parts.iter().map(|(from, to)| to - from).sum::<f64>().max(1e-9);
        let gaps = parts.len().saturating_sub(1) as f64;
        let gap = if gaps > 0.0 { (0.3 * length / gaps).min(14.0) } else { 0.0 };
        let per = (length - gap * gaps) / all;
        let (mut at, mut laid, mut between) = (0.0, Vec::new(), Vec::new());
        for (number, &(from, to)) in parts.iter().enumerate() {
            if number > 0 {
                between.push((at, gap, from - parts[number - 1].1));
                at += gap;
            }
            laid.push((from, to, at));
            at += (to - from) * per;
        }
        // Ticks measure only the time within parts.
        let (factor, unit) = axis.unit.along(all);
        let step = factor * step(all / factor);
        let place = |within: f64| {
            let mut left = within;
            for &(from, to, at) in &laid {
                if left <= to - from + 1e-9 {
                    return at + left * per;
                }
                left -= to - from;
            }
            length
        };
        let ticks = (0..=(all / step + 1e-9) as u32).map(|n| f64::from(n) * step);
        let ticks = ticks.map(|value| (place(value), tick(value, factor))).collect();
        AxisLayout { scale: ScaleLayout::Parts(laid, per), length, ticks, unit, gaps: between }
    }

    /// Returns the position of a value along the axis; `None` if the value can't be drawn.
    pub fn place(&self, value: f64) -> Option<f64> {
        match &self.scale {
            _ if !value.is_finite() => None,
            ScaleLayout::Linear(end) => Some(self.length * (value / end).clamp(0.0, 1.0)),
            ScaleLayout::Log(low, high, room) if value > 0.0 => {
                Some(room + (self.length - room) * ((value.log10() - low) / (high - low)).clamp(0.0, 1.0))
            }
            // Zero is placed at the start of the axis, outside the logarithmic part.
            ScaleLayout::Log(_, _, room) => (*room > 0.0 && value == 0.0).then_some(0.0),
            ScaleLayout::Parts(parts, per) => {
                let (from, to, at) = parts.iter().rev().find(|(from, _, _)| value >= from - 1e-6).or(parts.first())?;
                Some(at + (value.clamp(*from, to.max(*from)) - from) * per)
            }
        }
    }
}

/// Returns the difference between the values of two ticks: the smallest number of the form 1, 2 or 5 times a power of
/// ten with which at most [`TICKS`] steps reach from 0 to `most`.
fn step(most: f64) -> f64 {
    if most <= 0.0 || !most.is_finite() {
        return 1.0;
    }
    let rough = most / TICKS;
    let power = 10_f64.powf(rough.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|times| times * power).find(|&step| step >= rough).unwrap_or(rough)
}

/// Formats a power of ten: `10³`, but `1` and `10` in plain digits.
fn power_of_ten(power: i32) -> String {
    match power {
        0 => "1".into(),
        1 => "10".into(),
        _ => {
            let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
            let raised = |c: char| c.to_digit(10).map_or('⁻', |digit| raised[digit as usize]);
            format!("10{}", power.to_string().chars().map(raised).collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(laid: &AxisLayout) -> Vec<&str> {
        laid.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_all_values() {
        let laid = AxisLayout::new(&Axis::linear("memory", Unit::Bytes), [3.3 * 1024.0 * 1024.0].into_iter(), 100.0);
        assert_eq!((texts(&laid), laid.unit.as_str()), (vec!["0", "1", "2", "3", "4"], "MiB"));
        assert!((laid.place(2.0 * 1024.0 * 1024.0).expect("a place") - 50.0).abs() < 1e-9);
        let nothing = AxisLayout::new(&Axis::linear("nothing", Unit::Count), [].into_iter(), 100.0);
        assert_eq!(texts(&nothing), ["0", "1"]);
        let laid = AxisLayout::new(&Axis::log("degree", Unit::Count), [0.0, 3.0, 12_000.0].into_iter(), 100.0);
        assert_eq!(texts(&laid), ["1", "10", "10²", "10³", "10⁴", "10⁵"]);
        assert_eq!((laid.place(0.0), laid.place(1.0), laid.place(1e5)), (None, Some(0.0), Some(100.0)));
        let axis = Axis { scale: Scale::LogFromZero, ..Axis::log("degree", Unit::Count) };
        let laid = AxisLayout::new(&axis, [0.0, 2.0, 100.0].into_iter(), 144.0);
        assert_eq!(texts(&laid), ["0", "1", "10", "10²"]);
        assert_eq!([0.0, 1.0, 10.0, 100.0].map(|v| laid.place(v)), [0.0, 44.0, 94.0, 144.0].map(Some));
        let wide = AxisLayout::new(&Axis::log("distance", Unit::Number), [1e-9, 1e9].into_iter(), 100.0);
        assert!(texts(&wide).len() <= 8 && texts(&wide)[0] == "10⁻⁹", "{wide:?}");
    }

    /// Checks that an axis has few ticks for any values. The values of a report may be wrong, because its files may
    /// be damaged or come from somebody else.
    #[test]
    fn an_axis_has_few_ticks_whatever_its_values_are() {
        const LENGTH: f64 = 700.0;
        let numbers =
            [0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e30, 1e300, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0];
        let units = [Unit::Count, Unit::Number, Unit::Seconds, Unit::Bytes, Unit::Share, Unit::Teps];
        let pairs = numbers.iter().flat_map(|&a| numbers.map(|b| (a, b)));
        for ((a, b), unit) in pairs.flat_map(|pair| units.map(|unit| (pair, unit))) {
            let parts = Scale::Parts(vec![(a, b), (b, a), (a, a)]);
            for scale in [Scale::Linear, Scale::Log, Scale::LogFromZero, parts] {
                let laid = AxisLayout::new(&Axis { label: "x".into(), unit, scale }, [a, b].into_iter(), LENGTH);
                let places =
                    laid.ticks.iter().map(|(place, _)| *place).chain([a, b].into_iter().filter_map(|v| laid.place(v)));
                let places: Vec<f64> = places.collect();
                assert!(
                    places.len() < 20 && places.iter().all(|place| (-0.1..=LENGTH + 0.1).contains(place)),
                    "{a} {b} {laid:?}"
                );
            }
        }
    }

    #[test]
    fn gaps_between_parts_are_narrow_whatever_their_length() {
        let parts = vec![(0.0, 10.0), (100_000.0, 100_010.0)];
        let axis = Axis { label: "time".into(), unit: Unit::Seconds, scale: Scale::Parts(parts) };
        let laid = AxisLayout::new(&axis, [].into_iter(), 214.0);
        assert_eq!(laid.gaps, [(100.0, 14.0, 99_990.0)]);
        assert_eq!(
            [0.0, 10.0, 100_000.0, 100_010.0].map(|t| laid.place(t).expect("a place")),
            [0.0, 100.0, 114.0, 214.0]
        );
        assert_eq!(texts(&laid), ["0", "5", "10", "15", "20"]);
        assert!((laid.ticks[3].0 - 164.0).abs() < 1e-6);
        let many: Vec<(f64, f64)> = (0..100).map(|n| (10.0 * f64::from(n), 10.0 * f64::from(n) + 1.0)).collect();
        let laid = AxisLayout::new(&Axis { scale: Scale::Parts(many), ..axis }, [].into_iter(), 700.0);
        assert!((laid.place(991.0).expect("a place") - 700.0).abs() < 1e-6);
    }
}
