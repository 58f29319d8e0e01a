//! Media in a list: pictures, documents, sounds, videos and files, with the facts that decide their price.

use super::probe;

/// How closely a provider looks at a picture, where its API lets a caller choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// A small copy of the picture.
    Low,
    /// The default of the provider.
    #[default]
    Auto,
    /// The picture in the usual size.
    High,
    /// The picture in its own size, up to the limit of the model.
    Original,
}

impl Detail {
    /// Returns the detail with this name in requests; `auto` for any other name.
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

/// Something that a model reads in addition to the text of a message, with the facts that decide its price.
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
        /// The number of pages; `None` if it cannot be read from the bytes.
        pages: Option<u32>,
    },
    /// A sound.
    Audio {
        /// The length in milliseconds; `None` if it cannot be read from the bytes.
        millis: Option<u64>,
    },
    /// A video.
    Video,
    /// A file of plain text with this number of bytes.
    Text(u64),
}

impl Medium {
    /// Returns the picture in these bytes. The size of a PNG, JPEG, GIF or WebP is read from its header.
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

    /// Returns the document in these bytes. The number of pages is known only for a PDF that lists its pages
    /// uncompressed, or that states their number at its beginning.
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

    /// Returns the sound in these bytes. Only for a WAV file is the length known.
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
