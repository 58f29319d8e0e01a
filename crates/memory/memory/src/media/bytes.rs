//! Finds the bytes of a picture, a document or a sound, and reads its size and length from them.

use std::borrow::Cow;

use accp_tokens::{Detail, Medium};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const ANY: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, ANY);
/// How many characters of base64 are read first: enough for the size of nearly every picture. A multiple of 4.
const HEAD: usize = 4_096;
/// How many first characters show whether a text is base64, and of what. A shorter text does not count as base64. A
/// multiple of 4.
const LEAST: usize = 64;

/// Where bytes are.
pub(super) enum Bytes<'t> {
    /// Here, in base64.
    Here {
        base64: &'t str,
        mime: Option<&'t str>,
        /// How many bytes there are.
        length: usize,
    },
    Url(&'t str),
    /// At the provider, under this id.
    File(&'t str),
}

impl<'t> Bytes<'t> {
    /// Reads a text that is an address or has the bytes. If `is_data` is true, a text that is not a data URL has the
    /// bytes; otherwise it is an address.
    pub(super) fn of(text: &'t str, is_data: bool) -> Self {
        let text = text.trim();
        if let Some((head, base64)) = data_url(text) {
            let mime = head.split(';').next().filter(|mime| !mime.is_empty());
            return Self::here(base64, mime);
        }
        if is_data {
            Self::here(text, None)
        } else {
            Self::Url(text)
        }
    }

    fn here(base64: &'t str, mime: Option<&'t str>) -> Self {
        let digits = base64.trim_end_matches('=').len();
        Self::Here {
            base64,
            mime,
            length: digits - digits.div_ceil(4),
        }
    }

    /// Returns the media type that a data URL names.
    pub(super) fn mime(&self) -> Option<&'t str> {
        match self {
            Self::Here { mime, .. } => *mime,
            _ => None,
        }
    }

    pub(super) fn image(&self, detail: Detail) -> Medium {
        let Self::Here { base64, .. } = self else {
            let pixels = None;
            return Medium::Image { pixels, detail };
        };
        let seen = Medium::image(&decoded(beginning(base64)), detail);
        match seen {
            // Cameras may write much metadata before the size, so the whole picture is read.
            Medium::Image { pixels: None, .. } if base64.len() > HEAD => {
                Medium::image(&decoded(base64), detail)
            }
            seen => seen,
        }
    }

    pub(super) fn audio(&self) -> Medium {
        match self {
            Self::Here { base64, .. } => Medium::audio(&decoded(base64)),
            _ => Medium::Audio { millis: None },
        }
    }

    /// Returns the medium of a file. A file with text counts as a text, and any other file as a document.
    pub(super) fn document(&self, mime: Option<&str>) -> Medium {
        let Self::Here { base64, length, .. } = self else {
            return Medium::Document { pages: None };
        };
        let bytes = decoded(base64);
        let is_text = !bytes.is_empty() && std::str::from_utf8(&bytes).is_ok();
        let is_pdf = bytes.starts_with(b"%PDF-") || mime == Some("application/pdf");
        if is_text && !is_pdf {
            return Medium::Text(*length as u64);
        }
        Medium::document(&bytes)
    }
}

/// Returns the parts of a data URL before and after the comma. The first part may name a file, and this name may have
/// commas, too.
fn data_url(text: &str) -> Option<(&str, &str)> {
    let (scheme, url) = text.split_once(':')?;
    let mark = |head: &str| {
        let end = head.len().checked_sub(";base64".len());
        let end = end.and_then(|end| head.get(end..));
        end.is_some_and(|end| end.eq_ignore_ascii_case(";base64"))
    };
    let mut commas = url.match_indices(',').map(|(at, _)| at);
    let comma = commas.find(|at| mark(&url[..*at])).or(url.find(','));
    let parts = comma.map(|at| (&url[..at], &url[at + 1..]));
    parts.filter(|_| scheme.eq_ignore_ascii_case("data"))
}

/// Returns the beginning of base64, up to a character that ends a group of bytes.
fn beginning(base64: &str) -> &str {
    base64.get(..HEAD).unwrap_or(base64)
}

/// Returns the bytes of base64 in either alphabet. It may have padding, white space or URL escapes. An incomplete
/// group of bytes at the end is left out. Returns no bytes if the text is not base64.
fn decoded(base64: &str) -> Vec<u8> {
    let text = if base64.bytes().any(|byte| byte.is_ascii_whitespace()) {
        Cow::Owned(base64.split_ascii_whitespace().collect())
    } else {
        Cow::Borrowed(base64)
    };
    let text = if text.contains('%') {
        let escapes = [
            ("%2b", "+"),
            ("%2B", "+"),
            ("%2f", "/"),
            ("%2F", "/"),
            ("%3d", "="),
            ("%3D", "="),
        ];
        let plain = escapes
            .iter()
            .fold(text.into_owned(), |text, (from, to)| text.replace(from, to));
        Cow::Owned(plain)
    } else {
        text
    };
    let digits = text.trim_end_matches('=');
    let whole = match digits.len() % 4 {
        1 => digits.get(..digits.len() - 1).unwrap_or_default(),
        _ => digits,
    };
    let found = STANDARD.decode(whole).or_else(|_| URL_SAFE.decode(whole));
    found.unwrap_or_default()
}

/// Returns a number of bytes in words.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} KB", bytes.div_ceil(1_000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// Returns what a text in base64 is: `base64 of a JPEG, 300 KB`. `None` for another text.
pub(crate) fn named(text: &str) -> Option<String> {
    let mut data = text.trim();
    if let Some((_, behind)) = data
        .strip_prefix("data:")
        .and_then(|url| url.split_once(";base64,"))
    {
        data = behind;
    }
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=\r\n".contains(&byte);
    if data.len() < LEAST || !data.bytes().all(is_digit) {
        return None;
    }
    let head = decoded(data.get(..LEAST)?);
    let kind = [
        (&b"\xff\xd8\xff"[..], "a JPEG"),
        (b"\x89PNG\r\n\x1a\n", "a PNG"),
        (b"GIF8", "a GIF"),
        (b"RIFF", "a WebP, WAV or AVI"),
        (b"%PDF-", "a PDF"),
        (b"PK\x03\x04", "a ZIP"),
        (b"\x1f\x8b", "a GZIP"),
        (b"\x7fELF", "a program"),
        (b"ID3", "an MP3"),
        (b"OggS", "an Ogg"),
    ];
    let known = kind.iter().find(|(magic, _)| head.starts_with(magic));
    let known = known.map(|(_, name)| *name);
    // A long text without digits, or in one case, may be words. Base64 mixes both cases and digits.
    let is_mixed = || {
        let has = |is: fn(&u8) -> bool| data.as_bytes().iter().take(2_000).any(is);
        has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit)
    };
    let is_long = data.len() >= HEAD && is_mixed();
    let kind = known.or(is_long.then_some("bytes"))?;
    let Bytes::Here { length, .. } = Bytes::here(data, None) else {
        return None;
    };
    Some(format!("base64 of {kind}, {}", size(length)))
}
