//! Places for the labels of points, so that no label covers another.

/// The height of a line of a label.
pub(super) const LABEL: f64 = 14.0;
/// Approximate width of a letter.
pub(super) const LETTER: f64 = 6.4;
/// The distances from its point at which a label is tried, the first without a line to the point.
const AWAY: [f64; 9] = [10.0, 22.0, 36.0, 52.0, 70.0, 90.0, 112.0, 136.0, 162.0];

/// A part of a chart: left, top, right and bottom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area(pub(super) [f64; 4]);

impl Area {
    fn meets(self, other: Self) -> bool {
        let (Self([left, top, right, bottom]), Self(other)) = (self, other);
        left < other[2] && other[0] < right && top < other[3] && other[1] < bottom
    }

    fn is_within(self, other: Self) -> bool {
        let (Self([left, top, right, bottom]), Self(other)) = (self, other);
        left >= other[0] && top >= other[1] && right <= other[2] && bottom <= other[3]
    }
}

/// The parts of a chart that are taken. Labels leave them free.
#[derive(Debug)]
pub(super) struct Taken {
    all: Area,
    pub(super) points: Vec<Area>,
    labels: Vec<Area>,
    /// The lines from points to labels.
    leads: Vec<Area>,
}

impl Taken {
    /// Begins with a free area.
    pub(super) fn within(all: Area) -> Self {
        Self {
            all,
            points: Vec::new(),
            labels: Vec::new(),
            leads: Vec::new(),
        }
    }

    /// Takes the nearest free place for a label of these lines beside a point. Returns the place, and the end of a
    /// line from the point if the label is not beside the point.
    pub(super) fn label(
        &mut self,
        (left, top): (f64, f64),
        names: &[String],
    ) -> (Area, Option<(f64, f64)>) {
        // The letters of a short name may all be wide ones, so each name has room for one more.
        let longest = names.iter().map(|names| names.chars().count() + 1).max();
        let width = longest.unwrap_or(0) as f64 * LETTER;
        let height = names.len() as f64 * LABEL;
        let at = |from: f64, above: f64| Area([from, above, from + width, above + height]);
        let (middle, centre) = (top - height / 2.0, left - width / 2.0);
        let mut found = (
            at((left + AWAY[0]).min(self.all.0[2] - width), middle),
            None,
        );
        // If no other place is free, the line to a label may cross others, but labels do not cover labels.
        let tries = [true, false]
            .into_iter()
            .flat_map(|strict| AWAY.map(|away| (strict, away)));
        'search: for (strict, away) in tries {
            let (right, before) = (left + away, left - away - width);
            let (above, below) = (top - away - height, top + away);
            let places = [
                (right, middle),
                (before, middle),
                (centre, above),
                (centre, below),
                (right, above),
                (right, below),
                (before, above),
                (before, below),
            ];
            for area in places.map(|(from, above)| at(from, above)) {
                let Area([from, above, to, below]) = area;
                let end = (left.clamp(from, to), top.clamp(above, below));
                let lead = Area([
                    left.min(end.0) - 1.0,
                    top.min(end.1) - 1.0,
                    left.max(end.0) + 1.0,
                    top.max(end.1) + 1.0,
                ]);
                let is_free = |area: Area, taken: &[Area]| !taken.iter().any(|one| one.meets(area));
                let own = Area([left, top, left, top]);
                let mut others = self.points.iter().filter(|point| !own.is_within(**point));
                if area.is_within(self.all)
                    && is_free(area, &self.points)
                    && is_free(area, &self.labels)
                    && (!strict
                        || is_free(area, &self.leads)
                            && is_free(lead, &self.labels)
                            && !others.any(|point| point.meets(lead)))
                {
                    found = (area, (away > AWAY[0]).then_some(end));
                    self.leads.push(lead);
                    break 'search;
                }
            }
        }
        self.labels.push(found.0);
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn labels_do_not_cover_each_other(places in proptest::collection::vec((0.0..900.0_f64, 0.0..320.0_f64, 1..3_usize), 1..9)) {
            let mut taken = Taken::within(Area([0.0, 0.0, 1000.0, 350.0]));
            let mut labels: Vec<Area> = Vec::new();
            for (left, top, lines) in places {
                let names = vec!["clear-tool".to_owned(); lines];
                let point = (left, top);
                let (area, _) = taken.label(point, &names);
                prop_assert!(!labels.iter().any(|other| other.meets(area)), "{area:?} {labels:?}");
                labels.push(area);
            }
        }
    }
}
