//! The values in a segment of a prompt.

use super::Record;
use super::escape::readings;
use super::find::{Finder, Needle};
use super::sheet::{Hit, Sheet};

/// The values in a segment's text, and their places.
#[derive(Debug)]
pub(crate) struct Look {
    /// Values that the text contains, ascending.
    values: Vec<Needle>,
    pub(crate) sheet: Sheet,
    /// The places of values, ordered by value.
    hits: Vec<Hit>,
}

impl Look {
    pub(crate) fn at(text: &str, records: &[Record], finder: &Finder) -> Self {
        let mut values = Vec::new();
        for reading in readings(text) {
            finder.each(&reading, |needle, _| values.push(needle));
        }
        let mut sheet = Sheet::of_text(text);
        let claimed = sheet.hits(finder);
        values.extend(claimed.iter().map(|hit| hit.needle));
        values.sort_unstable();
        values.dedup();
        for Record(pairs) in records {
            sheet.add_record(
                pairs
                    .iter()
                    .map(|(key, value)| (key.as_str(), value.as_str())),
            );
        }
        let mut hits = sheet.hits(finder);
        // A record counts for a value only if the text contains the value.
        hits.retain(|hit| values.binary_search(&hit.needle).is_ok());
        hits.sort_unstable();
        Self {
            values,
            sheet,
            hits,
        }
    }

    pub(crate) fn has(&self, needle: Needle) -> bool {
        self.values.binary_search(&needle).is_ok()
    }

    pub(crate) fn hits(&self, needle: Needle) -> &[Hit] {
        let from = self.hits.partition_point(|hit| hit.needle < needle);
        let to = self.hits.partition_point(|hit| hit.needle <= needle);
        &self.hits[from..to]
    }
}
