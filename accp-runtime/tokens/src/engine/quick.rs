//! A fast way to find the pieces of most texts: words and numbers of ASCII that end within a window. It does not
//! look at single bytes. `split` has the patterns, and a test checks that both find the same cuts.

use super::key::WINDOW;
use super::split;

/// Returns the end of the piece that begins at the byte `at`, before the end of the text. `window` is the window at
/// `at`.
// Without inlining, this takes a tenth more instructions.
#[allow(clippy::inline_always)]
#[inline(always)]
pub(crate) fn piece_end<const CASED: bool>(text: &[u8], at: usize, window: u128) -> usize {
    let (first, second) = (window as u8, (window >> 8) as u8);
    let end = match kind(first) {
        Kind::Letter => word::<CASED>(text, at, window, 0),
        Kind::Digit => digits(text, at + 1),
        Kind::Newline => Some(split::spaces::<CASED>(text, at)),
        // Without cased words, a contraction is a piece of its own.
        Kind::Symbol if !CASED && first == b'\'' => None,
        Kind::Beyond => None,
        prefix => match kind(second) {
            Kind::Beyond => None,
            Kind::Letter => word::<CASED>(text, at + 1, window >> 8, 1),
            Kind::Digit | Kind::Space if matches!(prefix, Kind::Symbol) => Some(at + 1),
            Kind::Symbol | Kind::Newline if matches!(prefix, Kind::Symbol) => {
                Some(split::symbols::<CASED>(text, at + 1))
            }
            // After the end of the text, a window has zeros, which count as symbols.
            Kind::Symbol if first == b' ' && at + 1 < text.len() => {
                Some(split::symbols::<CASED>(text, at + 2))
            }
            _ => Some(split::spaces::<CASED>(text, at)),
        },
    };
    end.unwrap_or_else(|| split::piece_end::<CASED>(text, at))
}

/// The kind of a byte. `Beyond` is every byte outside ASCII.
#[derive(Clone, Copy)]
enum Kind {
    Letter,
    Digit,
    Newline,
    Space,
    Symbol,
    Beyond,
}

#[inline]
fn kind(byte: u8) -> Kind {
    KINDS[usize::from(byte)]
}

static KINDS: [Kind; 256] = {
    let mut kinds = [Kind::Beyond; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => Kind::Letter,
            b'0'..=b'9' => Kind::Digit,
            b'\r' | b'\n' => Kind::Newline,
            b' ' | b'\t' | 0x0b | 0x0c => Kind::Space,
            _ => Kind::Symbol,
        };
        byte += 1;
    }
    kinds
};

/// Returns the end of the word that begins at the byte `at`. `window` begins with the first letter, and has
/// `prefix` bytes less than other windows. `None` if this function cannot find the end.
// Without inlining, this takes a tenth more instructions.
#[allow(clippy::inline_always)]
#[inline(always)]
fn word<const CASED: bool>(text: &[u8], at: usize, window: u128, prefix: usize) -> Option<usize> {
    let length = match stops8::<CASED>(window as u64) {
        0 => stops::<CASED>(window).trailing_zeros(),
        marks => marks.trailing_zeros(),
    } as usize
        / 8;
    if length + prefix >= WINDOW {
        return None;
    }
    let end = at + length;
    match text.get(end) {
        Some(&next) if next >= 0x80 || CASED && next == b'\'' => None,
        _ => Some(end),
    }
}

/// Makes a function that looks at all bytes of an integer at once.
macro_rules! stops {
    ($name:ident, $bytes:ty) => {
        /// Marks the bytes at which a word ends: bytes that are not letters, and capitals after small letters. The
        /// mark is the highest bit of the byte. Only the first mark is reliable.
        #[inline]
        fn $name<const CASED: bool>(bytes: $bytes) -> $bytes {
            const ONES: $bytes = <$bytes>::MAX / 0xff;
            const HIGH: $bytes = ONES << 7;
            // Capitals become small letters, and no other byte of ASCII becomes one.
            let small = (bytes | ONES << 5) & !HIGH;
            let reach = (small + ONES * (0x80 - 0x61)) & !(small + ONES * (0x7f - 0x7a));
            let letters = reach & !bytes & HIGH;
            let mut stops = !letters & HIGH;
            if CASED {
                let lower = (bytes << 2) & HIGH;
                stops |= (lower << 8) & !lower;
            }
            stops
        }
    };
}

stops!(stops, u128);
stops!(stops8, u64);

/// Returns the end of `\p{N}{1,3}`, given the byte after the first digit. `None` before a byte outside ASCII.
#[inline]
fn digits(text: &[u8], behind: usize) -> Option<usize> {
    let mut end = behind;
    while end < behind + 2 {
        match text.get(end) {
            Some(b'0'..=b'9') => end += 1,
            Some(0x80..) => return None,
            _ => break,
        }
    }
    Some(end)
}

/// Returns whether a piece of two or three bytes at the beginning of a window has only digits of ASCII. All such
/// pieces are tokens.
#[inline]
pub(crate) fn is_number(window: u128, length: usize) -> bool {
    let last = (window >> (8 * (length - 1))) as u8;
    // A piece that begins with a digit and ends with a digit of ASCII has only digits.
    (window as u8).is_ascii_digit() && last.is_ascii_digit()
}
