//! Charts as SVG, drawn here so that a report needs no other files.

use std::fmt::Write as _;

use super::labels::{Area, LABEL, LETTER, Taken};

const WIDTH: f64 = 1060.0;
const HEIGHT: f64 = 380.0;
/// Room for the numbers to the left of the plot and below the plot.
const LEFT: f64 = 56.0;
const BOTTOM: f64 = 44.0;
const TOP: f64 = 14.0;
const RIGHT: f64 = 18.0;
/// Height of a bar and the gap below it.
const BAR: f64 = 20.0;
const GAP: f64 = 10.0;
/// Least and greatest width of the names beside bars and lines.
const NAMES: [f64; 2] = [120.0, 460.0];
/// Room between the names and the plot, for lines from each name to its place.
const LEAD: f64 = 26.0;
/// Width of a square in the colour of a line, with the room to the right of it.
const SQUARE: f64 = 14.0;
/// The most bytes of names in a line of a label.
const LABEL_BYTES: usize = 36;
/// Points nearer to each other than this share a label.
const SAME: f64 = 7.0;
/// The room that a point takes on each side.
const POINT: f64 = 7.0;
/// Colours that most people can tell apart, in order.
const COLOURS: [&str; 16] = [
    "#4e5d6c", "#0b7fab", "#d1495b", "#e8a33d", "#66a182", "#8d5a97", "#2b3a8c", "#a44a3f",
    "#3d9a8b", "#b08968", "#e07be0", "#111111", "#7fb800", "#5ec4e8", "#ff6f3c", "#9a8c00",
];

/// Returns the colour of the policy or kind with this number.
pub(crate) fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// A range of numbers and the marks on it.
#[derive(Debug, Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
    step: f64,
}

impl Axis {
    /// Makes an axis over the values, with its ends on marks.
    fn over(values: impl Iterator<Item = f64> + Clone, least: f64) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let (low, high) = if low.is_finite() {
            (low, high)
        } else {
            (0.0, 1.0)
        };
        let span = (high - low).max(least);
        let rough = span / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = step
            .into_iter()
            .find(|step| *step >= rough * 0.999)
            .unwrap_or(power);
        Self {
            from: (low / step).floor() * step,
            to: ((low + span).max(high) / step).ceil() * step,
            step,
        }
    }

    fn marks(self) -> impl Iterator<Item = f64> {
        let count = ((self.to - self.from) / self.step).round() as usize;
        (0..=count).map(move |mark| self.from + mark as f64 * self.step)
    }

    /// Returns the position of a value on the axis, from 0 at the beginning to 1 at the end.
    fn at(self, value: f64) -> f64 {
        (value - self.from) / (self.to - self.from)
    }

    fn label(self, value: f64) -> String {
        if self.to >= 10_000.0 {
            return format!("{}k", value / 1000.0);
        }
        let places = (-self.step.log10().floor()).max(0.0) as usize;
        format!("{value:.places$}")
    }
}

/// A point with a name.
#[derive(Debug)]
pub(crate) struct Point<'p> {
    pub(crate) name: &'p str,
    pub(crate) colour: &'static str,
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// A part of a bar.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) colour: &'static str,
    pub(crate) size: u64,
}

/// The area of a plot with two axes, with free room to the right and below the lowest value.
struct Plot {
    x: Axis,
    y: Axis,
    right: f64,
    below: f64,
}

/// Draws named points in a plane. The horizontal axis includes 1, and the vertical axis includes 0.
pub(crate) fn points(points: &[Point<'_>], across: &str, up: &str) -> String {
    let x = Axis::over(points.iter().map(|point| point.x).chain([1.0]), 0.5);
    let y = Axis::over(points.iter().map(|point| point.y).chain([0.0]), 0.04);
    let plot = Plot {
        x,
        y,
        right: RIGHT,
        below: 3.0 * LABEL,
    };
    let mut svg = plot.frame(across, up);
    let mut labels: Vec<(f64, f64, Vec<&str>)> = Vec::new();
    let mut taken = Taken::within(Area([LEFT, 0.0, WIDTH, HEIGHT - BOTTOM]));
    for point in points {
        let (left, top) = plot.place(point.x, point.y);
        let around = [left - POINT, top - POINT, left + POINT, top + POINT];
        taken.points.push(Area(around));
        let same = |label: &&mut (f64, f64, Vec<&str>)| {
            (label.0 - left).abs() < SAME && (label.1 - top).abs() < SAME
        };
        match labels.iter_mut().find(same) {
            Some((.., names)) => names.push(point.name),
            None => labels.push((left, top, vec![point.name])),
        }
    }
    // Long labels are hard to place, so they get their places first.
    labels.sort_by_key(|(.., names)| {
        std::cmp::Reverse(names.iter().map(|name| name.len()).sum::<usize>())
    });
    for (left, top, names) in labels {
        let names = wrapped(&names);
        let (Area([from, above, ..]), end) = taken.label((left, top), &names);
        if let Some((x, y)) = end {
            let _ = write!(
                svg,
                "<line class=\"lead\" x1=\"{left:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>",
            );
        }
        for (line, names) in names.iter().enumerate() {
            let line = above + (line as f64 + 0.78) * LABEL;
            let _ = write!(
                svg,
                "<text x=\"{from:.1}\" y=\"{line:.1}\">{}</text>",
                escaped(names),
            );
        }
    }
    for point in points {
        let (left, top) = plot.place(point.x, point.y);
        let _ = write!(
            svg,
            "<circle cx=\"{left:.1}\" cy=\"{top:.1}\" r=\"5\" fill=\"{}\"><title>{}: {:.3}, \
             {:.4}</title></circle>",
            point.colour,
            escaped(point.name),
            point.x,
            point.y,
        );
    }
    svg + "</svg>"
}

/// Returns the width of the longest name.
fn width<'n>(names: impl Iterator<Item = &'n str>) -> f64 {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    (longest as f64 * LETTER).clamp(NAMES[0], NAMES[1])
}

/// Joins names into lines that are not too long.
fn wrapped(names: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() < LABEL_BYTES => {
                line.push_str(", ");
                line.push_str(name);
            }
            _ => lines.push((*name).to_owned()),
        }
    }
    lines
}

/// Draws a line over turns for each series.
pub(crate) fn lines(series: &[(&str, &'static str, &[u64])], across: &str, up: &str) -> String {
    let longest = series
        .iter()
        .map(|(.., values)| values.len())
        .max()
        .unwrap_or(0);
    let values = series
        .iter()
        .flat_map(|(.., values)| values.iter().map(|&value| value as f64));
    let x = Axis::over([0.0, longest.saturating_sub(1) as f64].into_iter(), 4.0);
    let y = Axis::over(values.chain([0.0]), 10.0);
    let right = LEAD + SQUARE + width(series.iter().map(|(name, ..)| *name));
    let plot = Plot {
        x,
        y,
        right,
        below: 0.0,
    };
    let mut svg = plot.frame(across, up);
    // The first line is drawn on top: the others are compared with it.
    for (name, colour, values) in series.iter().rev() {
        let path: Vec<String> = values
            .iter()
            .enumerate()
            .map(|(turn, &value)| {
                let (left, top) = plot.place(turn as f64, value as f64);
                format!("{left:.1},{top:.1}")
            })
            .collect();
        let _ = write!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\">\
             <title>{}</title></polyline>",
            path.join(" "),
            escaped(name),
        );
    }
    // Each name is placed beside the end of its line, or below the previous name.
    let ends = series.iter().filter_map(|(name, colour, values)| {
        let last = *values.last()? as f64;
        Some((plot.place((values.len() - 1) as f64, last), *name, *colour))
    });
    let mut ends: Vec<_> = ends.collect();
    ends.sort_by(|one, other| one.0.1.total_cmp(&other.0.1));
    let mut rooms: Vec<f64> = ends.iter().map(|((_, top), ..)| *top).collect();
    for at in 1..rooms.len() {
        rooms[at] = rooms[at].max(rooms[at - 1] + LABEL);
    }
    let mut lowest = HEIGHT - BOTTOM;
    for room in rooms.iter_mut().rev() {
        *room = room.min(lowest);
        lowest = *room - LABEL;
    }
    let from = WIDTH - right + LEAD;
    for (((left, top), name, colour), room) in ends.into_iter().zip(rooms) {
        let _ = write!(
            svg,
            "<line class=\"lead\" x1=\"{left:.1}\" y1=\"{top:.1}\" x2=\"{:.1}\" y2=\"{room:.1}\"/>\
             <rect x=\"{from:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\" fill=\"{colour}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            from - 4.0,
            room - 4.5,
            from + SQUARE,
            room + 4.0,
            escaped(name),
        );
    }
    svg + "</svg>"
}

/// Draws a bar for each name, made of parts in their order.
pub(crate) fn bars(rows: &[(&str, Vec<Part>)], across: &str) -> String {
    let sum = |parts: &[Part]| parts.iter().map(|part| part.size as f64).sum::<f64>();
    let axis = Axis::over(rows.iter().map(|(_, parts)| sum(parts)).chain([0.0]), 10.0);
    let height = TOP + rows.len() as f64 * (BAR + GAP) + BOTTOM;
    let names = 8.0 + width(rows.iter().map(|(name, _)| *name));
    let room = WIDTH - names - RIGHT;
    let mut svg = open(WIDTH, height);
    for mark in axis.marks() {
        let left = names + axis.at(mark) * room;
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left:.1}\" x2=\"{left:.1}\" y1=\"{TOP}\" y2=\"{:.1}\"/>\
             <text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - BOTTOM,
            height - BOTTOM + 16.0,
            millions(mark, axis),
        );
    }
    for (row, (name, parts)) in rows.iter().enumerate() {
        let top = TOP + row as f64 * (BAR + GAP);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            names - 8.0,
            top + BAR * 0.7,
            escaped(name),
        );
        let mut left = names;
        for Part { name, colour, size } in parts {
            let width = axis.at(axis.from + *size as f64) * room;
            let _ = write!(
                svg,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{BAR}\" \
                 fill=\"{colour}\"><title>{name}: {size}</title></rect>",
            );
            left += width;
        }
    }
    let _ = write!(
        svg,
        "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></svg>",
        names + room / 2.0,
        height - 8.0,
        escaped(across),
    );
    svg
}

/// Escapes a text for a page, so that no character is markup.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            character => out.push(character),
        }
    }
    out
}

fn millions(value: f64, axis: Axis) -> String {
    if axis.to >= 2_000_000.0 {
        return format!("{}M", value / 1_000_000.0);
    }
    axis.label(value)
}

fn open(width: f64, height: f64) -> String {
    format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\">")
}

impl Plot {
    /// Draws the plot without its data.
    fn frame(&self, across: &str, up: &str) -> String {
        let Self { x, y, right, .. } = *self;
        let mut svg = open(WIDTH, HEIGHT);
        for mark in y.marks() {
            let (_, top) = self.place(x.from, mark);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{top:.1}\" y2=\"{top:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - right,
                LEFT - 8.0,
                top + 4.0,
                y.label(mark),
            );
        }
        for mark in x.marks() {
            let (left, _) = self.place(mark, y.from);
            let _ = write!(
                svg,
                "<text x=\"{left:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM + 16.0,
                x.label(mark),
            );
        }
        let _ = write!(
            svg,
            "<text class=\"axis\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
             <text class=\"axis\" transform=\"translate(13 {:.1}) rotate(-90)\" \
             text-anchor=\"middle\">{}</text>",
            (LEFT + WIDTH - right) / 2.0,
            HEIGHT - 8.0,
            escaped(across),
            (TOP + HEIGHT - BOTTOM) / 2.0,
            escaped(up),
        );
        svg
    }

    /// Returns the coordinates of a value in the plot.
    fn place(&self, across: f64, up: f64) -> (f64, f64) {
        let left = LEFT + self.x.at(across) * (WIDTH - LEFT - self.right);
        let height = HEIGHT - BOTTOM - self.below - TOP;
        let top = TOP + (1.0 - self.y.at(up)) * height;
        (left, top)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_axis_holds_its_values_between_few_marks(values in proptest::collection::vec(0.0..1e7_f64, 1..9), least in 0.1..10.0_f64) {
            let axis = Axis::over(values.iter().copied(), least);
            for value in values {
                prop_assert!((-1e-9..=1.0 + 1e-9).contains(&axis.at(value)), "{value} {axis:?}");
            }
            let marks = axis.marks().count();
            prop_assert!((3..=7).contains(&marks), "{axis:?}");
        }

        #[test]
        fn no_name_is_markup(name in ".{0,12}") {
            let svg = points(&[Point { name: &name, colour: colour(0), x: 1.0, y: 0.5 }], &name, "y");
            prop_assert!(!escaped(&name).contains(['<', '>', '"']));
            prop_assert_eq!(svg.matches("<circle").count(), 1);
        }
    }
}
