//! The check of one value in a prompt against the rules.

use std::collections::BTreeSet;

use super::{Finder, Hit, Said, Sheet, Unit, is_word, words};

/// Words that may stand between a key and its value.
const FILLERS: [&str; 8] = ["is", "are", "of", "to", "as", "for", "was", "number"];
/// The most words before a value that are looked at.
const WORDS_BEFORE: usize = 5;
/// The check of one value, with its earlier places and keys.
pub(crate) struct Case<'c> {
    pub(crate) said: &'c Said,
    pub(crate) finder: &'c Finder,
    pub(crate) value: &'c str,
    pub(crate) turn: usize,
    pub(crate) known: Vec<Hit>,
    pub(crate) keys: BTreeSet<String>,
}

impl Case<'_> {
    pub(crate) fn bound(&self, sheet: &Sheet, hit: Hit) -> bool {
        let unit = &sheet.units[hit.unit];
        let Some(at) = hit.at else {
            return self.known.iter().any(|known| known.at.is_none());
        };
        if !unit.line {
            return self.keys.contains(&normal(&unit.key))
                || self.in_its_row(sheet.records[unit.record].units.iter().map(|&at| {
                    let Unit { text, .. } = &sheet.units[at];
                    text.as_str()
                }));
        }
        let line = &unit.text;
        let (before, rest) = line.split_at(at);
        let after = &rest[self.value.len()..];
        self.under_its_key(before)
            || self.in_its_column(sheet, hit.unit, before)
            || self.as_it_was_said(unit, before, after)
            || self.beside_its_value(before, after)
            || groups(before, after).any(|(from, to)| {
                let group = &line[from..line.len() - to];
                let pieces = group.split([
                    ',', '|', ';', ':', '=', '\t', '"', '[', ']', '{', '}', '(', ')',
                ]);
                self.in_its_row(pieces.chain(group.split_whitespace()))
            })
    }

    /// Checks rule 1 in a line: the words before the value are its key.
    fn under_its_key(&self, before: &str) -> bool {
        let list = groups(before, "")
            .filter(|(from, _)| *from > 0)
            .map(|(from, _)| &before[..from - 1]);
        let table = before.split_once(':').map(|(head, _)| head.trim_end());
        let table = table.and_then(|head| head.strip_suffix(']')?.rsplit_once('['));
        let heads = list.take(2).chain(table.map(|(head, _)| head));
        std::iter::once(before)
            .chain(heads)
            .any(|before| self.ends_with_key(before))
    }

    /// Checks rule 1 in a table whose head names its columns: `flights[2]{number,price}:`.
    fn in_its_column(&self, sheet: &Sheet, unit: usize, before: &str) -> bool {
        let indent = |line: &str| line.len() - line.trim_start().len();
        let row = indent(before);
        let above = sheet.units[..unit]
            .iter()
            .rev()
            .take_while(|unit| unit.line);
        let mut above = above.map(|unit| unit.text.as_str());
        let Some(head) = above.find(|line| indent(line) < row) else {
            return false;
        };
        let head = head.trim_end().strip_suffix("}:");
        let Some((_, columns)) = head.and_then(|head| head.rsplit_once('{')) else {
            return false;
        };
        let mut quoted = false;
        let commas = before.chars().filter(|&character| {
            quoted ^= character == '"';
            character == ',' && !quoted
        });
        let column = columns.split(',').nth(commas.count());
        column.is_some_and(|column| self.keys.contains(&normal(column)))
    }

    /// Returns whether the last words of a text are one of the keys, with at most one filler word
    /// after the key.
    fn ends_with_key(&self, text: &str) -> bool {
        let last: Vec<String> = words(text)
            .rev()
            .take(WORDS_BEFORE)
            .map(|(_, word)| normal(word))
            .collect();
        let skip = usize::from(
            last.first()
                .is_some_and(|word| FILLERS.contains(&word.as_str())),
        );
        let mut joined = String::new();
        for word in &last[skip..] {
            joined.insert_str(0, word);
            if self.keys.contains(&joined) {
                return true;
            }
        }
        false
    }

    /// Checks rule 2. The texts are the cells of a row that contains the value.
    fn in_its_row<'t>(&self, texts: impl Iterator<Item = &'t str>) -> bool {
        let quotes: &[char] = &['"', '\'', '`', ' '];
        let others: BTreeSet<u32> = texts
            .map(|text| text.trim().trim_matches(quotes))
            // A text that is part of the value, or contains the value, tells nothing new.
            .filter(|text| !text.contains(self.value) && !self.value.contains(text))
            .filter_map(|text| self.said.numbers.get(text).copied())
            .collect();
        if others.is_empty() {
            return false;
        }
        let stood = self
            .known
            .iter()
            .filter(|hit| hit.at.is_some())
            .map(|hit| &self.said.sheet.units[hit.unit]);
        let mut seen = BTreeSet::new();
        stood
            .filter(|unit| !unit.line && seen.insert(unit.record))
            .any(|unit| {
                let family = &self.said.families[unit.record];
                let of_it: Vec<u32> = others
                    .iter()
                    .filter(|value| family.binary_search(value).is_ok())
                    .copied()
                    .collect();
                of_it.len() == others.len() && self.tells(unit, &of_it)
            })
    }

    /// Returns whether these values of the record tell it from other records with the same keys.
    fn tells(&self, unit: &Unit, others: &[u32]) -> bool {
        let said = self.said;
        let alike = said
            .shapes
            .get(&said.shape_of[unit.record])
            .map_or(&[][..], Vec::as_slice);
        let alike: Vec<usize> = alike
            .iter()
            .filter(|&&record| said.messages[record] < self.turn)
            .copied()
            .collect();
        let has = |record: usize, value: u32| said.families[record].binary_search(&value).is_ok();
        let has_this = |record: usize| {
            let units = said.sheet.records[record]
                .units
                .iter()
                .map(|&at| &said.sheet.units[at]);
            units
                .into_iter()
                .any(|other| other.key == unit.key && other.text == unit.text)
        };
        let mut whole = said
            .values(unit.record)
            .filter(|value| said.numbers.get(self.value) != Some(value));
        if whole.all(|value| others.contains(&value)) {
            return true;
        }
        let with_others = alike
            .iter()
            .filter(|&&record| others.iter().all(|&value| has(record, value)));
        if with_others.into_iter().all(|&record| has_this(record)) {
            return true;
        }
        others.iter().any(|&value| {
            let (with_this, without): (Vec<usize>, Vec<usize>) =
                alike.iter().partition(|&&record| has_this(record));
            with_this.iter().all(|&record| has(record, value))
                && !without.iter().all(|&record| has(record, value))
        })
    }

    /// Checks rule 3: an earlier line, or an earlier neighbour word.
    fn as_it_was_said(&self, unit: &Unit, before: &str, after: &str) -> bool {
        let (previous, next) = (
            self.word(words(before).next_back()),
            self.word(words(after).next()),
        );
        let lines = self
            .known
            .iter()
            .filter_map(|hit| Some((hit.at?, &self.said.sheet.units[hit.unit], hit)));
        lines
            .filter(|(_, said, _)| said.line)
            .any(|(at, said, hit)| {
                let (said_before, rest) = said.text.split_at(at);
                let said_after = &rest[self.value.len()..];
                let (first, last) = (words(said_before).next_back(), words(said_after).next());
                if first.is_none() && last.is_none() {
                    // The line was the value alone: only the speaker and the key identify it.
                    let speaker = self.said.speakers.get(&self.said.message_of(hit));
                    let speaker = speaker.map_or(&[][..], Vec::as_slice);
                    let same =
                        said.text == unit.text && said.key == unit.key && !unit.key.is_empty();
                    return same || previous.as_ref().is_some_and(|word| speaker.contains(word));
                }
                said.text.trim() == unit.text.trim()
                    || previous.is_some() && previous == self.word(first)
                    || next.is_some() && next == self.word(last)
            })
    }

    /// Checks rule 4: the value was a key.
    fn beside_its_value(&self, before: &str, after: &str) -> bool {
        let units = &self.said.sheet.units;
        let beside = [words(before).next_back(), words(after).next()];
        let value = after.trim_start_matches(|character| !is_word(character));
        let was_key = self.known.iter().filter(|hit| hit.at.is_none());
        was_key.map(|hit| &units[hit.unit]).any(|unit| {
            let keys = self.said.sheet.records[unit.record].units.iter();
            let mut keys = keys
                .map(|&at| &*units[at].key)
                .filter(|key| *key != unit.key);
            let said = unit
                .text
                .trim_start_matches(|character| !is_word(character));
            (!said.is_empty() && value.starts_with(said))
                || keys.any(|key| beside.into_iter().flatten().any(|(_, word)| word == key))
        })
    }

    /// Returns a word in lower case, or `None` for a word that is itself a value.
    fn word(&self, word: Option<(usize, &str)>) -> Option<String> {
        let (_, word) = word?;
        let value = self.finder.is_value(word)
            || self.said.numbers.contains_key(word)
            || word.chars().all(char::is_numeric);
        (!value).then(|| word.to_lowercase())
    }
}

/// Returns the brackets around a place, the innermost first and the whole line last. Each pair is
/// the byte where the inside begins, and the number of bytes in `after` that follow the inside.
fn groups(before: &str, after: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut found = Vec::new();
    let mut closing = after.char_indices();
    let mut open = 0_usize;
    for (at, character) in before.char_indices().rev() {
        match character {
            ')' | ']' | '}' => open += 1,
            '(' | '[' | '{' if open > 0 => open -= 1,
            '(' | '[' | '{' => {
                let mut inner = 0_usize;
                let end = closing.find(|(_, character)| match character {
                    '(' | '[' | '{' => {
                        inner += 1;
                        false
                    }
                    ')' | ']' | '}' if inner > 0 => {
                        inner -= 1;
                        false
                    }
                    ')' | ']' | '}' => true,
                    _ => false,
                });
                found.push((at + 1, end.map_or(0, |(end, _)| after.len() - end)));
            }
            _ => {}
        }
    }
    found.push((0, 0));
    found.into_iter()
}

/// Returns a key or word in the form for comparison: letters and digits in lower case.
pub(crate) fn normal(text: &str) -> String {
    let letters = text.chars().filter(|character| character.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}
