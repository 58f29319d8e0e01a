//! Tests with random ABNFs: pest accepts each generated grammar, and the grammar accepts exactly the texts of the
//! ABNF.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::generate;
use super::peg::Peg;

/// Returns the number of ABNFs to try. `.ci/long abnfs` tries more.
fn count() -> u64 {
    let given = std::env::var("ABNFS").ok();
    given.map_or(400, |count| count.parse().unwrap())
}

/// The random numbers of `SplitMix64`.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % limit as u64).unwrap()
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// The elements of an ABNF. The test does not use the type that the generator has for them.
enum Abnf {
    Text(&'static str),
    Exact(&'static str),
    Range(char, char),
    Rule(usize),
    All(Vec<Abnf>),
    Any(Vec<Abnf>),
    Times(usize, Option<usize>, Box<Abnf>),
    Maybe(Box<Abnf>),
}

impl Abnf {
    fn random(random: &mut Random, rules: usize, depth: usize) -> Self {
        if depth == 0 {
            return match random.below(8) {
                0..=3 => Self::Text(random.one(&["a", "b", "c", "ab", "B", "abc", "ba", ""])),
                4 => Self::Exact(random.one(&["a", "B", "bc"])),
                5 => {
                    let (from, to) = random.one(&[('a', 'b'), ('b', 'c'), ('a', 'c'), ('A', 'A')]);
                    Self::Range(from, to)
                }
                _ => Self::Rule(random.below(rules)),
            };
        }
        let some = |random: &mut Random| {
            let count = 2 + random.below(2);
            (0..count)
                .map(|_| {
                    let depth = random.below(depth);
                    Self::random(random, rules, depth)
                })
                .collect()
        };
        match random.below(8) {
            0..=2 => Self::All(some(random)),
            3..=4 => Self::Any(some(random)),
            5 => Self::Maybe(Box::new(Self::random(random, rules, depth - 1))),
            _ => {
                let min = random.one(&[0, 0, 0, 1, 1, 2]);
                let max = random.one(&[None, None, Some(min), Some(min + 1), Some(3)]);
                Self::Times(min, max, Box::new(Self::random(random, rules, depth - 1)))
            }
        }
    }

    /// Returns a random text of the elements, if one is found.
    fn draw(&self, random: &mut Random, rules: &[Abnf], left: usize) -> Option<String> {
        let left = left.checked_sub(1)?;
        Some(match self {
            Self::Text(text) if random.below(4) == 0 => text.to_uppercase(),
            Self::Text(text) | Self::Exact(text) => (*text).to_owned(),
            Self::Range(from, to) => random.one(&[*from, *to]).to_string(),
            Self::Rule(rule) => rules[*rule].draw(random, rules, left)?,
            Self::All(parts) => {
                let texts = parts.iter().map(|part| part.draw(random, rules, left));
                texts.collect::<Option<String>>()?
            }
            Self::Any(parts) => parts[random.below(parts.len())].draw(random, rules, left)?,
            Self::Maybe(_) if random.below(2) == 0 => String::new(),
            Self::Maybe(inner) => inner.draw(random, rules, left)?,
            Self::Times(min, max, inner) => {
                let more = random.below(1 + max.map_or(2, |max| max - min));
                let texts = (0..min + more).map(|_| inner.draw(random, rules, left));
                texts.collect::<Option<String>>()?
            }
        })
    }
}

impl fmt::Display for Abnf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |parts: &[Abnf], between: &str| {
            let parts: Vec<_> = parts.iter().map(ToString::to_string).collect();
            format!("({})", parts.join(between))
        };
        match self {
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Exact(text) => write!(f, "%s\"{text}\""),
            Self::Range(from, to) => write!(f, "%x{:X}-{:X}", *from as u32, *to as u32),
            Self::Rule(rule) => write!(f, "r{rule}"),
            Self::All(parts) => f.write_str(&list(parts, " ")),
            Self::Any(parts) => f.write_str(&list(parts, " / ")),
            Self::Maybe(inner) => write!(f, "[{inner}]"),
            Self::Times(min, max, inner) => {
                let max = max.map_or(String::new(), |max| max.to_string());
                write!(f, "{min}*{max}({inner})")
            }
        }
    }
}

/// A slow but exact matcher: for each element and each place, it finds all places where a match can end.
struct Matcher<'a> {
    text: &'a [u8],
    /// The places where a match of a rule can end, by the rule and the place where the match begins.
    known: BTreeMap<(usize, usize), BTreeSet<usize>>,
}

impl Matcher<'_> {
    fn matches(rules: &[Abnf], text: &str) -> bool {
        let mut matcher = Matcher {
            text: text.as_bytes(),
            known: BTreeMap::new(),
        };
        loop {
            let before = matcher.known.clone();
            for (number, rule) in rules.iter().enumerate() {
                for at in 0..=text.len() {
                    let ends = matcher.ends(rule, at);
                    matcher.known.entry((number, at)).or_default().extend(ends);
                }
            }
            if before == matcher.known {
                return matcher.known[&(0, 0)].contains(&text.len());
            }
        }
    }

    fn ends(&self, abnf: &Abnf, at: usize) -> BTreeSet<usize> {
        let behind = |text: &str, is_same: fn(&[u8], &[u8]) -> bool| {
            let found = self.text.get(at..at + text.len());
            let is_it = found.is_some_and(|found| is_same(found, text.as_bytes()));
            is_it.then_some(at + text.len()).into_iter().collect()
        };
        match abnf {
            Abnf::Text(text) => behind(text, <[u8]>::eq_ignore_ascii_case),
            Abnf::Exact(text) => behind(text, |a, b| a == b),
            Abnf::Range(from, to) => {
                let c = self.text.get(at).copied().map(char::from);
                let is_in = c.is_some_and(|c| (*from..=*to).contains(&c));
                is_in.then_some(at + 1).into_iter().collect()
            }
            Abnf::Rule(rule) => self.known.get(&(*rule, at)).cloned().unwrap_or_default(),
            Abnf::All(parts) => parts.iter().fold(BTreeSet::from([at]), |starts, part| {
                starts.iter().flat_map(|at| self.ends(part, *at)).collect()
            }),
            Abnf::Any(parts) => parts.iter().flat_map(|part| self.ends(part, at)).collect(),
            Abnf::Maybe(inner) => {
                let mut ends = self.ends(inner, at);
                ends.insert(at);
                ends
            }
            Abnf::Times(min, max, inner) => {
                let mut now = BTreeSet::from([at]);
                let mut all = BTreeSet::new();
                // More items than the text has characters would match only empty texts, and change nothing.
                for count in 0..=max.unwrap_or(min + self.text.len() + 1) {
                    if count >= *min {
                        all.extend(&now);
                    }
                    now = now.iter().flat_map(|at| self.ends(inner, *at)).collect();
                }
                all
            }
        }
    }
}

/// Changes a text in one place.
fn mutate(random: &mut Random, text: &mut Vec<char>) {
    let at = random.below(text.len() + 1);
    let c = random.one(&['a', 'b', 'c', 'A', 'B']);
    match random.below(3) {
        0 => text.insert(at, c),
        1 if at < text.len() => text[at] = c,
        _ if at < text.len() => {
            text.remove(at);
        }
        _ => {}
    }
}

#[test]
fn random_abnfs() {
    let (mut taken, mut texts) = (0, 0);
    for seed in 0..count() {
        let random = &mut Random(seed);
        let count = 1 + random.below(4);
        let rules: Vec<_> = (0..count)
            .map(|_| {
                let depth = random.below(4);
                Abnf::random(random, count, depth)
            })
            .collect();
        let lines = rules.iter().enumerate();
        let lines: Vec<_> = lines
            .map(|(at, rule)| format!("r{at} = {rule}\n"))
            .collect();
        let abnf = lines.concat();
        let pest = match generate(&abnf, "") {
            Ok(pest) => pest,
            Err(error) => {
                assert!(
                    error.line() <= count && error.message().contains("`r"),
                    "{error}"
                );
                continue;
            }
        };
        taken += 1;
        let peg = Peg::new(&pest).unwrap_or_else(|error| panic!("seed {seed}\n{abnf}{error}"));
        let mut tried = BTreeSet::new();
        for _ in 0..30 {
            let drawn = rules[0].draw(random, &rules, 12).unwrap_or_default();
            let mut text: Vec<_> = drawn.chars().take(14).collect();
            for _ in 0..3 {
                tried.insert(text.iter().collect::<String>());
                mutate(random, &mut text);
            }
        }
        for text in tried {
            texts += 1;
            let (meant, found) = (Matcher::matches(&rules, &text), peg.is("r0", &text));
            assert_eq!(meant, found, "seed {seed}, text {text:?}\n{abnf}\n{pest}");
        }
    }
    println!(
        "{taken} of {} ABNFs were taken, with {texts} texts",
        count()
    );
    assert!(
        taken * 5 > count() * 2,
        "only {taken} of {} were taken",
        count()
    );
}
