//! The values in an instruction: numbers, dates, names and quoted text.

use std::fmt;

use super::lexicon::{month, month_name, number};

/// A value that an instruction names. A different value makes a different packet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// A number, without the commas between its digits.
    Number(String),
    /// A month of a year.
    Period(u16, u8),
    /// A month without a year.
    Month(u8),
    /// A day.
    Date(u16, u8, u8),
    /// An identifier or a proper name.
    Name(String),
    /// A text in quotation marks.
    Quoted(String),
    /// A sign of a currency, or `%`.
    Sign(char),
}

impl Value {
    /// Returns whether one value can stand in the place of another: both are of one kind, and names look
    /// alike, as `PO-441` and `PO-9` do and `PO-441` and "Alice" do not.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sign(one), Self::Sign(two)) => one == two,
            (Self::Name(one), Self::Name(two)) => Look::of(one) == Look::of(two),
            (one, two) => std::mem::discriminant(one) == std::mem::discriminant(two),
        }
    }

    /// Returns whether this is a month or a day.
    pub(super) fn is_date(&self) -> bool {
        matches!(self, Self::Period(..) | Self::Month(_) | Self::Date(..))
    }

    /// Reads a number as a year.
    pub(super) fn as_year(&self) -> Option<u16> {
        match self {
            Self::Number(text) if text.len() == 4 => {
                text.parse().ok().filter(|year| (1900..2200).contains(year))
            }
            _ => None,
        }
    }

    /// Reads a number, or one such as "15th", as the day of a month.
    pub(super) fn as_day(&self) -> Option<u8> {
        let text = match self {
            Self::Number(text) => text,
            Self::Name(text) => {
                let mut ends = ["st", "nd", "rd", "th"].iter();
                ends.find_map(|end| text.strip_suffix(end))?
            }
            _ => return None,
        };
        text.parse().ok().filter(|day| (1..=31).contains(day))
    }

    /// Returns the spellings that the value may have in a packet.
    pub(super) fn spellings(&self) -> Vec<String> {
        match self {
            Self::Number(_) | Self::Period(..) | Self::Date(..) | Self::Sign(_) => {
                vec![self.to_string()]
            }
            Self::Month(month) => {
                let name = month_name(*month).unwrap_or_default();
                let mut first = name.to_owned();
                if let Some(letter) = first.get_mut(..1) {
                    letter.make_ascii_uppercase();
                }
                vec![first, name.to_owned()]
            }
            Self::Name(text) | Self::Quoted(text) => {
                vec![text.clone(), text.replace(' ', "-"), text.replace(' ', "_")]
            }
        }
    }

    /// Returns texts, in small letters, that show that a packet holds the value in some form.
    pub(super) fn traces(&self) -> Vec<String> {
        let named = |month: u8| {
            let name = month_name(month).unwrap_or_default();
            let short = name.get(..3).unwrap_or_default();
            let mut names = vec![name.to_owned(), short.to_owned()];
            names.dedup();
            names
        };
        match self {
            Self::Period(year, month) => {
                let mut traces = named(*month);
                for separator in ["-", "_", "/", ""] {
                    traces.push(format!("{year:04}{separator}{month:02}"));
                    traces.push(format!("{month:02}{separator}{year:04}"));
                }
                traces
            }
            Self::Date(year, month, day) => {
                let mut traces = Self::Period(*year, *month).traces();
                for separator in ["-", "_", "/", ""] {
                    traces.push(format!("{year:04}{separator}{month:02}{separator}{day:02}"));
                }
                traces
            }
            Self::Month(month) => named(*month),
            _ => self
                .spellings()
                .into_iter()
                .map(|text| text.to_lowercase())
                .collect(),
        }
    }
}

/// The appearance of a name, by which two names are compared.
#[derive(PartialEq)]
struct Look {
    is_capital: bool,
    has_small: bool,
    has_digits: bool,
    /// The characters that are neither letters nor digits.
    marks: String,
}

impl Look {
    fn of(name: &str) -> Self {
        Self {
            is_capital: name.starts_with(char::is_uppercase),
            has_small: name.contains(char::is_lowercase),
            has_digits: name.contains(char::is_numeric),
            marks: name.chars().filter(|c| !c.is_alphanumeric()).collect(),
        }
    }
}

impl fmt::Display for Value {
    /// Writes the value as a packet has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(text) | Self::Name(text) | Self::Quoted(text) => f.write_str(text),
            Self::Period(year, month) => write!(f, "{year:04}-{month:02}"),
            Self::Month(month) => f.write_str(month_name(*month).unwrap_or_default()),
            Self::Date(year, month, day) => write!(f, "{year:04}-{month:02}-{day:02}"),
            Self::Sign(sign) => write!(f, "{sign}"),
        }
    }
}

/// Reads a word as a value; `None` if the word is not a value. A word at the start of a sentence has a capital letter
/// in any case, so the letter does not make the word a name.
pub(super) fn read(word: &str, at_start: bool) -> Option<Value> {
    if let Some(value) = numeric(word) {
        return Some(value);
    }
    let small = word.to_lowercase();
    if let Some(number) = number(&small) {
        return Some(Value::Number(number.to_owned()));
    }
    let is_capital = word.starts_with(char::is_uppercase);
    if let Some(month) = month(&small) {
        return Some(Value::Month(month));
    }
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let capitals = word.chars().filter(|c| c.is_uppercase()).count();
    let is_plain = word
        .chars()
        .all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'));
    let is_acronym = capitals > 1 || capitals == 1 && letters == 1 && word != "I" && word != "A";
    let is_inner = capitals > usize::from(is_capital);
    let is_name = !is_plain || is_acronym || is_inner || is_capital && !at_start && word != "I";
    is_name.then(|| Value::Name(word.to_owned()))
}

/// Reads numbers, and dates of digits.
fn numeric(word: &str) -> Option<Value> {
    let parts: Vec<&str> = word.split('-').collect();
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    match parts[..] {
        [year, month] if digits(year, 4) && digits(month, 2) => {
            let month = month
                .parse()
                .ok()
                .filter(|month| (1..=12).contains(month))?;
            return Some(Value::Period(year.parse().ok()?, month));
        }
        [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2) => {
            let month = month
                .parse()
                .ok()
                .filter(|month| (1..=12).contains(month))?;
            let day = day.parse().ok().filter(|day| (1..=31).contains(day))?;
            return Some(Value::Date(year.parse().ok()?, month, day));
        }
        _ => {}
    }
    let (whole, fraction) = word
        .split_once('.')
        .map_or((word, None), |(w, f)| (w, Some(f)));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !fraction.is_none_or(is_digits) {
        return None;
    }
    let mut groups = whole.strip_prefix('-').unwrap_or(whole).split(',');
    let first = groups.next().filter(|first| is_digits(first))?;
    let mut rest = groups.clone();
    if !rest.all(|group| digits(group, 3)) || groups.next().is_some() && first.len() > 3 {
        return None;
    }
    Some(Value::Number(word.replace(',', "")))
}
