//! Reads the size of a picture, a document or a sound from its bytes.

/// Returns the width and the height of a picture in pixels.
pub(super) fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    let size = imagesize::blob_size(bytes).ok()?;
    let along = |edge: usize| u32::try_from(edge).ok().filter(|edge| *edge > 0);
    along(size.width).zip(along(size.height))
}

/// Returns the number of pages of a PDF. `None` if the PDF keeps its pages in compressed objects and does not state
/// their number at its beginning.
pub(super) fn pages(bytes: &[u8]) -> Option<u32> {
    if !bytes.starts_with(b"%PDF-") {
        return None;
    }
    let listed = after(bytes, b"/Type").filter(|rest| {
        let rest = trimmed(rest).strip_prefix(b"/Page");
        rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
    });
    let listed = u32::try_from(listed.count()).ok()?;
    let head = bytes.get(..1_024).unwrap_or(bytes);
    let linear = after(head, b"/Linearized").next().and_then(|rest| {
        let rest = rest.split(|byte| *byte == b'>').next()?;
        number(after(rest, b"/N").find(|rest| !rest.starts_with(b"e"))?)
    });
    linear.or(Some(listed).filter(|pages| *pages > 0))
}

/// Returns how long the sound of a WAV file is, in milliseconds.
pub(super) fn millis(bytes: &[u8]) -> Option<u64> {
    let mut rest = bytes.strip_prefix(b"RIFF")?.get(4..)?;
    rest = rest.strip_prefix(b"WAVE")?;
    let mut a_second = None;
    loop {
        let (id, behind) = rest.split_at_checked(4)?;
        let (length, behind) = behind.split_at_checked(4)?;
        let length = u32::from_le_bytes(length.try_into().ok()?);
        // A program that streams the file does not know the length, and writes the largest number
        // instead.
        let here = (length as usize).min(behind.len());
        match id {
            b"fmt " => {
                let rate = behind.get(8..12)?;
                let rate = u32::from_le_bytes(rate.try_into().ok()?);
                a_second = Some(u64::from(rate)).filter(|rate| *rate > 0);
            }
            b"data" => return Some(here as u64 * 1_000 / a_second?),
            _ => {}
        }
        // A chunk of odd length is followed by one byte of padding.
        rest = behind.get(here + here % 2..)?;
    }
}

/// Returns the bytes after each occurrence of a word.
fn after<'b>(bytes: &'b [u8], word: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
    let found = bytes.windows(word.len()).enumerate();
    let found = found.filter(move |(_, window)| *window == word);
    found.filter_map(move |(at, _)| bytes.get(at + word.len()..))
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii_start()
}

/// Reads a number in digits.
fn number(bytes: &[u8]) -> Option<u32> {
    let digits = trimmed(bytes)
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let text: String = digits.map(|byte| char::from(*byte)).collect();
    text.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wav(rate: u32, data: usize, said: u32) -> Vec<u8> {
        let mut out = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        out.extend((rate / 2).to_le_bytes());
        out.extend(rate.to_le_bytes());
        out.extend(b"\x02\0\x10\0LIST\x03\0\0\0abc\0data");
        out.extend(said.to_le_bytes());
        out.extend(vec![0; data]);
        out
    }

    #[test]
    fn a_wave_says_how_long_it_is_even_if_it_was_streamed() {
        assert_eq!(millis(&wav(32_000, 48_000, 48_000)), Some(1_500));
        assert_eq!(millis(&wav(32_000, 16_000, u32::MAX)), Some(500));
        assert_eq!(millis(&wav(0, 10, 10)), None);
    }

    #[test]
    fn pages_are_counted_as_listed_or_as_a_linear_file_says_first() {
        let listed = b"%PDF-1.7\n<</Type /Pages /Count 9>> <</Type /Page>><< /Type\n/Page /X 1>>";
        assert_eq!(pages(listed), Some(2));
        let linear = b"%PDF-1.7\n<</Linearized 1/L 400/O 7/N 12/T 300>> stream";
        assert_eq!(pages(linear), Some(12));
        assert_eq!(pages(b"%PDF-1.7 stream of objects"), None);
        assert_eq!(pages(b"GIF89a /Type /Page"), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(
            head in prop::sample::select(vec![
                &b""[..], b"%PDF-1.4/Type/Page", b"RIFF\0\0\0\0WAVE", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0",
                b"GIF89a", b"RIFF\0\0\0\0WEBPVP8 ", b"RIFF\0\0\0\0WEBPVP8L", b"RIFF\0\0\0\0WEBPVP8X",
            ]),
            tail: Vec<u8>,
        ) {
            let bytes = [head, &tail].concat();
            let _ = (pixels(&bytes), pages(&bytes), millis(&bytes));
        }
    }
}
