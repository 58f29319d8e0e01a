//! All characters, alone and next to other characters: the patterns of both encodings put each character into a class.

use crate::common::{assert_same, encodings};

/// Makes numbers from a seed.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    }
}

/// Compares many short texts at once. A line feed between two letters is always a cut.
fn assert_all_same(texts: impl Iterator<Item = String>) {
    let texts: Vec<_> = texts.collect();
    for some in texts.chunks(64) {
        let joined = format!("x\n{}", some.join("x\n"));
        for (ours, reference) in encodings() {
            if ours.tokens(&joined) != reference.encode_ordinary(&joined) {
                for text in some {
                    assert_same(text);
                }
                assert_same(&joined);
            }
        }
    }
}

#[test]
fn every_character_in_all_surroundings() {
    // The step has no common factor with the size of a block, so it reaches all places of blocks. `.ci/long counts`
    // takes every character.
    let step = std::env::var("STEP").map_or(61, |step| step.parse().expect("a number"));
    for around in [
        ["", ""],
        ["a", "b"],
        [" ", "A"],
        ["\u{301}", "Z"],
        ["!", "\n/"],
        ["1", "2"],
        ["'", "s"],
        ["A", "'s"],
        ["\r\n", " "],
    ] {
        assert_all_same(
            ('\0'..=char::MAX)
                .step_by(step)
                .map(|character| around.join(&character.to_string())),
        );
    }
}

#[test]
fn pairs_and_triples_of_characters() {
    let mut number = numbers(0x2545_f491_4f6c_dd1d);
    let mut character = move || {
        // Half of the characters are below 0x3000, where most classes are.
        let below = [0x80, 0x3000, 0x2_0000, 0x11_0000][number(4)];
        char::from_u32(number(below) as u32).unwrap_or('\u{200d}')
    };
    assert_all_same((0..40_000).map(|at| {
        let length = 2 + at % 2;
        (0..length).map(|_| character()).collect()
    }));
}

/// Texts of a few characters of each class, in every order, so that alternatives of the patterns take characters
/// and give them back.
#[test]
fn every_order_of_classes() {
    let classes = [
        'a', 'A', 'ǅ', 'ʰ', '漢', '\u{301}', '7', '\n', '\r', ' ', '\t', '\'', 's', '/', '!', 'ſ',
        'é',
    ];
    let all = |length: u32| {
        (0..classes.len().pow(length)).map(move |mut number| {
            let character = |_| {
                let character = classes[number % classes.len()];
                number /= classes.len();
                character
            };
            (0..length).map(character).collect::<String>()
        })
    };
    assert_all_same((1..=4).flat_map(all));
}
