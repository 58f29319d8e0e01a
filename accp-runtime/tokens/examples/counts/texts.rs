//! Makes texts of many kinds, each from a seed.

/// Numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.below(of.len())]
    }
}

/// Texts that are put together to test the borders between pieces.
pub(crate) const BORDERS: [&str; 61] = [
    " ",
    "  ",
    "   ",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{85}",
    "\u{a0}",
    "\u{2028}",
    "\u{3000}",
    "a",
    "b",
    "A",
    "Z",
    "aB",
    "ABc",
    "ǅ",
    "ʰ",
    "漢",
    "ا",
    "\u{301}",
    "\u{20dd}",
    "é",
    "e\u{301}",
    "\u{212b}",
    "\u{fb01}",
    "ß",
    "ſ",
    "K",
    "'",
    "'s",
    "'S",
    "'ſ",
    "'ll",
    "'VE",
    "'re",
    "'D",
    "'x",
    "7",
    "42",
    "1234",
    "٣",
    "Ⅷ",
    "½",
    "/",
    "//",
    "_",
    "!",
    "?!",
    "👩",
    "\u{200d}",
    "\u{fe0f}",
    "\u{feff}",
    "\0",
    "\u{10ffff}",
    "<|endoftext|>",
    "<|endofprompt|>",
];

const SIGNS: [&str; 24] = [
    "@", ">", ":", "{", "}", "[", "]", "|", ",", ".", "%", "+", "-", "$", "#", "(", ")", "\"",
    "\\", "=", "*", "~", "`", "^",
];

/// Returns the text of a seed: frames, code, prose, runs, characters at random, tokens in a row, and mixtures.
pub(crate) fn text(seed: u64, vocabulary: &[String]) -> String {
    let mut numbers = Numbers(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let mut text = String::new();
    for _ in 0..=numbers.below(3) {
        part(&mut text, &mut numbers, vocabulary);
    }
    text
}

fn part(text: &mut String, numbers: &mut Numbers, vocabulary: &[String]) {
    let length = 1 + numbers.below(12);
    match numbers.below(9) {
        0 => frame(text, numbers),
        1 => {
            for _ in 0..length {
                text.push_str(numbers.pick(&BORDERS));
            }
        }
        2 => {
            for _ in 0..length {
                text.push_str(&vocabulary[numbers.below(vocabulary.len())]);
            }
        }
        // Parts of tokens, so that few pieces are tokens.
        3 => {
            for _ in 0..length {
                let token = &vocabulary[numbers.below(vocabulary.len())];
                let from = numbers.below(token.chars().count());
                text.extend(token.chars().skip(from).take(1 + numbers.below(6)));
            }
        }
        4 => {
            let bound = [0x80, 0x250, 0x3000, 0x2_0000, 0x11_0000][numbers.below(5)];
            for _ in 0..length {
                text.push(char::from_u32(numbers.below(bound) as u32).unwrap_or('\u{fffd}'));
            }
        }
        5 => {
            let run = numbers.pick(&BORDERS);
            let most = [300, 20][numbers.below(16).min(1)];
            let length = 1 + numbers.below(most);
            text.push_str(&run.repeat(length));
        }
        6 => {
            for _ in 0..length {
                let letters = 1 + numbers.below(14);
                let capitals = numbers.below(4);
                word(text, numbers, letters, capitals);
                text.push_str(numbers.pick(&[
                    " ", " ", ", ", ". ", "\n", "'s ", "-", "n't ", "! ", "\u{301} ",
                ]));
            }
        }
        // Code.
        7 => {
            for _ in 0..length {
                text.push_str(&"    ".repeat(numbers.below(4)));
                for _ in 0..numbers.below(5) {
                    let letters = 1 + numbers.below(9);
                    let capitals = numbers.below(9);
                    word(text, numbers, letters, capitals);
                    for _ in 0..numbers.below(4) {
                        text.push_str(numbers.pick(&SIGNS));
                    }
                }
                text.push_str(numbers.pick(&["\n", "\r\n", ";\n", " {\n\n", "\n//", "*/\n"]));
            }
        }
        _ => {
            for _ in 0..2 * length {
                match numbers.below(4) {
                    0 => text.push_str(&numbers.below(1 << (1 + numbers.0 % 30)).to_string()),
                    1 => text.push_str(numbers.pick(&SIGNS)),
                    2 => word(text, numbers, 3, 5),
                    _ => text.push(' '),
                }
            }
        }
    }
}

/// Appends random letters. One letter in `capitals` is a capital; 0 means none.
fn word(text: &mut String, numbers: &mut Numbers, length: usize, capitals: usize) {
    for _ in 0..length {
        let capital = capitals > 0 && numbers.below(capitals) == 0;
        let first = if capital { b'A' } else { b'a' };
        text.push(char::from(
            first + (numbers.below(26).min(numbers.below(26))) as u8,
        ));
    }
}

fn frame(text: &mut String, numbers: &mut Numbers) {
    text.push('@');
    word(text, numbers, 6, 0);
    text.push('>');
    text.push_str(numbers.pick(&["req", "done", "fail", "sync", "ack"]));
    text.push(':');
    word(text, numbers, 5, 0);
    text.push('{');
    for at in 0..numbers.below(5) {
        if at > 0 {
            text.push('|');
        }
        let letters = 1 + numbers.below(6);
        word(text, numbers, letters, 0);
        text.push(':');
        match numbers.below(5) {
            0 => {
                let amount = format!("{}.{}", numbers.below(5000), numbers.below(100));
                text.push_str(&amount);
            }
            1 => text.push_str("[a:-12%QoQ,b,+3.2%]"),
            2 => {
                let reference = format!("$hot.{:x}", numbers.next() & 0xff_ffff);
                text.push_str(&reference);
            }
            3 => text.push_str("\"say \\\"no\\\"\""),
            _ => {
                let letters = 1 + numbers.below(10);
                word(text, numbers, letters, 9);
            }
        }
    }
    let envelope = format!(
        "}}[mid:{:012x},seq:{},ts:1{:09},sid:s1]",
        numbers.next() & 0xffff_ffff_ffff,
        numbers.below(9999),
        numbers.below(999_999_999)
    );
    text.push_str(&envelope);
}
