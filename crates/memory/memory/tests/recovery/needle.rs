//! Planted needles: values in generated conversations, and twins that differ from them a little.

use std::collections::BTreeSet;

use accp_memory::Archived;

use crate::recovery::folder::{Folder, said};

/// Random numbers from a seed (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Id,
    Amount,
    Date,
    Path,
    Person,
    Sentence,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] = [
        Self::Id,
        Self::Amount,
        Self::Date,
        Self::Path,
        Self::Person,
        Self::Sentence,
    ];

    fn key(self) -> &'static str {
        match self {
            Self::Id => "order_id",
            Self::Amount => "total_amount",
            Self::Date => "due_date",
            Self::Path => "report_path",
            Self::Person => "contact",
            Self::Sentence => "remark",
        }
    }

    /// Returns the value for a number. No two numbers have the same value. The values of neighbouring numbers are
    /// twins.
    fn value(self, number: usize, words: &[String]) -> String {
        match self {
            Self::Id => format!("ORD-{}", 10_000 + number),
            Self::Amount => format!("{},{:03}.{:02}", 1 + number / 100, 137, number % 100),
            Self::Date => {
                let (year, day) = (1970 + number / 336, number % 336);
                format!("{year}-{:02}-{:02}", 1 + day / 28, 1 + day % 28)
            }
            Self::Path => format!("src/billing/v{}/ledger_{}.rs", number / 10, number % 10),
            Self::Person => {
                let (name, mill) = (&words[number / 10 % 40], &words[40 + number / 400 % 40]);
                let at = number % 10;
                format!("{name} {mill} <{name}.{mill}{at}@rye-mill.example>")
            }
            Self::Sentence => {
                let word = |at: usize| &words[at % words.len()];
                format!(
                    "\"the {} keeps {} {} until the {} comes\"",
                    word(number / 50),
                    word(number % 50),
                    word(number / 7),
                    word(number / 3)
                )
            }
        }
    }
}

/// A value, and where it was planted.
#[derive(Debug)]
pub(crate) struct Needle {
    pub(crate) kind: Kind,
    pub(crate) value: String,
    /// The query: the tool, the key and the words next to the value.
    pub(crate) question: String,
    pub(crate) file: String,
    pub(crate) line: usize,
}

const TOOLS: [&str; 8] = [
    "get_order",
    "web_search",
    "read_file",
    "list_invoices",
    "query_table",
    "fetch_page",
    "find_customer",
    "run_report",
];

/// How many words there are, and how many of them are as common as `the`.
const VOCABULARY: usize = 5_000;
const COMMON: usize = 50;

/// Returns words that look like those of a language.
fn vocabulary(random: &mut Random, count: usize) -> Vec<String> {
    let (begins, middles) = (
        [
            "b", "br", "d", "f", "gr", "k", "l", "m", "n", "p", "r", "s", "st", "t", "v",
        ],
        ["a", "e", "i", "o", "u", "ea"],
    );
    let mut all: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    while all.len() < count {
        let syllables = 2 + random.below(3);
        let word: String = (0..syllables)
            .map(|_| [*random.one(&begins), *random.one(&middles)].concat())
            .collect();
        if seen.insert(word.clone()) {
            all.push(word);
        }
    }
    all
}

/// Returns a random word. As in a language, the word at position `n` is chosen with a frequency proportional to 1/n.
fn word<'w>(random: &mut Random, words: &'w [String]) -> &'w str {
    let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
    let at = (words.len() as f64).powf(share) as usize;
    &words[at.clamp(1, words.len()) - 1]
}

/// Returns a random word that may be in a query. The most frequent words are left out: nobody would search for them.
fn telling<'w>(random: &mut Random, words: &'w [String]) -> &'w str {
    loop {
        let word = word(random, words);
        if !words[..COMMON].iter().any(|common| common == word) {
            return word;
        }
    }
}

fn line(random: &mut Random, words: &[String]) -> Vec<String> {
    let count = 4 + random.below(10);
    let mut line: Vec<_> = (0..count).map(|_| word(random, words).to_owned()).collect();
    // One line in four has a value that is not a needle.
    if random.below(4) == 0 {
        let kind = *random.one(&Kind::ALL);
        line.push(format!("{}: {}", kind.key(), random.below(100_000)));
    }
    line
}

/// Writes conversations with needles into a folder: in each, results of 1 to 120 lines, of which every fourth is
/// offloaded. Each needle has two twins, with the same tool and the same key.
pub(crate) fn plant(
    folder: &Folder,
    seed: u64,
    conversations: usize,
    messages: usize,
    needles: usize,
) -> Vec<Needle> {
    let mut random = Random::new(seed);
    let words = vocabulary(&mut random, VOCABULARY);
    let mut all = Vec::new();
    let mut archives: Vec<Vec<(&str, Vec<String>)>> = (0..conversations)
        .map(|_| {
            let result = |random: &mut Random| {
                let lines = 1 + random.below(120);
                (
                    *random.one(&TOOLS),
                    (0..lines).map(|_| line(random, &words).join(" ")).collect(),
                )
            };
            (0..messages).map(|_| result(&mut random)).collect()
        })
        .collect();
    let mut planted = Vec::new();
    for needle in 0..needles {
        let kind = Kind::ALL[needle % Kind::ALL.len()];
        let tool = *random.one(&TOOLS);
        // The needle's twins have the number before the needle's, and the number after it.
        let number = 3 * needle + 1;
        for twin in [number, number - 1, number + 1] {
            let value = kind.value(twin, &words);
            let (before, after) = (telling(&mut random, &words), telling(&mut random, &words));
            let mut text = line(&mut random, &words);
            let at = random.below(text.len());
            text.insert(at, format!("{before} {}: {value} {after}", kind.key()));
            let place = loop {
                let (archive, message) = (random.below(conversations), random.below(messages));
                if archives[archive][message].0 == tool {
                    break (archive, message);
                }
            };
            planted.push((
                twin == number,
                kind,
                value,
                format!("{tool} {} {before} {after}", kind.key()),
                place,
                text.join(" "),
            ));
        }
    }
    for (.., (archive, message), text) in &planted {
        let lines = &mut archives[*archive][*message].1;
        let at = random.below(lines.len() + 1);
        lines.insert(at, text.clone());
    }
    let mut places = Vec::new();
    for (archive, messages) in archives.iter().enumerate() {
        places.push(write(folder, archive, messages));
    }
    for (is_needle, kind, value, question, (archive, message), text) in planted {
        if !is_needle {
            continue;
        }
        let (file, first) = &places[archive][message];
        let at = archives[archive][message]
            .1
            .iter()
            .position(|line| *line == text)
            .unwrap();
        all.push(Needle {
            kind,
            value,
            question,
            file: file.clone(),
            line: first + at,
        });
    }
    all
}

/// Writes a conversation. Returns the file and the first line of each message.
fn write(
    folder: &Folder,
    archive: usize,
    messages: &[(&str, Vec<String>)],
) -> Vec<(String, usize)> {
    let file = format!("cache/conversations/c{archive}_full.md");
    let (mut line, mut places) = (0, Vec::new());
    let mut all: Vec<Archived> = Vec::new();
    for (number, (tool, lines)) in messages.iter().enumerate() {
        let text = lines.join("\n");
        if number % 4 == 3 {
            let name = format!(
                "cache/offloaded/2026{:02}01_{number:06}_{tool}.md",
                archive + 1
            );
            folder.write(&name, text);
            places.push((name, 1));
        } else {
            // Before the text come a heading, a blank line and a fence. After it come a fence and a blank line.
            places.push((file.clone(), line + 4));
            line += lines.len() + 5;
            all.push(said(number, tool, text));
        }
    }
    folder.append(&file, &all);
    places
}
