//! What something that is not text is, as far as its price goes.

use super::probe;

/// How closely a provider looks at a picture, where its API lets a caller choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// A small copy of the picture.
    Low,
    /// What a provider takes when nothing is said.
    #[default]
    Auto,
    /// The usual reading.
    High,
    /// The picture in its own size, as far as the model can.
    Original,
}

impl Detail {
    /// Returns the detail with this name in requests; `auto` for others.
    ///
    /// ```
    /// use accp_tokens::Detail;
    ///
    /// assert_eq!(Detail::named("low"), Detail::Low);
    /// assert_eq!(Detail::named("fine"), Detail::Auto);
    /// ```
    pub fn named(name: &str) -> Self {
        match name {
            "low" => Self::Low,
            "high" => Self::High,
            "original" => Self::Original,
            _ => Self::Auto,
        }
    }
}

/// Something that a model reads and that is not text, as far as its price goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Medium {
    /// A picture.
    Image {
        /// Width and height in pixels; `None` if only the provider can see the picture.
        pixels: Option<(u32, u32)>,
        /// How closely the provider looks.
        detail: Detail,
    },
    /// A document with pages.
    Document {
        /// How many; `None` if the bytes do not say it openly.
        pages: Option<u32>,
    },
    /// A sound.
    Audio {
        /// How long it is, in milliseconds; `None` if the bytes do not say it.
        millis: Option<u64>,
    },
    /// Moving pictures.
    Video,
    /// A file of plain text with so many bytes.
    Text(u64),
}

impl Medium {
    /// Returns the picture in these bytes. PNG, JPEG, GIF and WebP say their size; of the bytes only the header is
    /// read.
    ///
    /// ```
    /// use accp_tokens::{Detail, Medium};
    ///
    /// let gif = b"GIF89a\x40\x01\xf0\x00\x00\x00\x00;";
    /// let seen = Medium::Image { pixels: Some((320, 240)), detail: Detail::Auto };
    /// assert_eq!(Medium::image(gif, Detail::Auto), seen);
    /// ```
    pub fn image(bytes: &[u8], detail: Detail) -> Self {
        let pixels = probe::pixels(bytes);
        Self::Image { pixels, detail }
    }

    /// Returns the document in these bytes. Its pages are counted if it is a PDF that lists them openly.
    ///
    /// ```
    /// use accp_tokens::Medium;
    ///
    /// let pdf = b"%PDF-1.4 <</Type/Pages/Count 2>> <</Type /Page>> <</Type/Page/Parent 1 0 R>>";
    /// assert_eq!(Medium::document(pdf), Medium::Document { pages: Some(2) });
    /// ```
    pub fn document(bytes: &[u8]) -> Self {
        Self::Document {
            pages: probe::pages(bytes),
        }
    }

    /// Returns the sound in these bytes. A WAV file says how long it is.
    ///
    /// ```
    /// use accp_tokens::Medium;
    ///
    /// assert_eq!(Medium::audio(b"ID3"), Medium::Audio { millis: None });
    /// ```
    pub fn audio(bytes: &[u8]) -> Self {
        Self::Audio {
            millis: probe::millis(bytes),
        }
    }
}
