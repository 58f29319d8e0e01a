//! The prices of a picture, of a page and of a second of sound, in tokens.
//!
//! | Models | A picture of W x H pixels | Source |
//! |---|---|---|
//! | gpt-4o, gpt-4.1, gpt-4.5, gpt-4-turbo; an OpenAI form without a model | fitted into 2,048 x 2,048, then to a short side of 768; 85 + 170 a tile of 512; `low`: 85 | [1] |
//! | gpt-4o-mini | the same with 2,833 + 5,667 | [1] |
//! | gpt-5, gpt-5.1 | the same with 70 + 140 | [1] |
//! | o1, o3 | the same with 75 + 150 | [1] |
//! | computer-use-preview | the same with 65 + 129 | [1] |
//! | gpt-4.1-mini, gpt-5-mini, gpt-5.4-mini; gpt-4.1-nano, gpt-5-nano, gpt-5.4-nano; o4-mini; gpt-5.2, gpt-5.3 | patches of 32 x 32, at most 1,536, times 1.62; 2.46; 1.72; 1; `low`: fitted into 512 x 512 | [1] |
//! | gpt-5.4 and later | the same with at most 2,500 patches, `original` 10,000, times 1.2; from gpt-5.5 on `auto` is `original` | [1], [2] |
//! | Claude before 4.7; an Anthropic form without a model | a long edge of at most 1,568; W x H / 750, at most 1,600 | [3] |
//! | Claude from 4.7 on | a long edge of at most 2,576; patches of 28 x 28, at most 4,784 | [4] |
//! | Gemini | up to 384 x 384: 258; else 258 a tile of 768 | [5] |
//! | others | 1,600 | an estimate |
//!
//! - [1] OpenAI, Images and vision, "Calculating costs", read on 2026-11-28.
//! - [2] The factor 1.2 is published for models from gpt-5.6 on. This file uses it from gpt-5.4 on: a price that is too
//!   high does less harm than a price that is too low.
//! - [3] Anthropic, Vision, as of 2025. The page of 2026 counts patches of 28 x 28 for these models too, up to 1,568:
//!   at most 5 % fewer.
//! - [4] Anthropic, Vision, "Resolution tiers", read on 2026-11-28.
//! - [5] Google, Understand and count tokens, as of 2025.
//!
//! What is the same for all models:
//!
//! | What | Tokens | Source |
//! |---|---|---|
//! | a picture whose size only the provider can see (a URL, an id, an unknown header) | as one of 1,024 x 1,024 | an estimate |
//! | a page of a PDF | 3,000 for Claude: the upper end of "1,500 to 3,000"; 1,500 else: a picture of the page and half as much text | Anthropic, PDF support; an estimate |
//! | a page of a PDF for Gemini | 258 | Google |
//! | a document without a known number of pages | as one of 10 pages | an estimate |
//! | a second of sound | 10; 32 for Gemini | OpenAI, Managing costs: a token is 100 ms; Google |
//! | a sound of unknown length | as one of 60 seconds | an estimate |
//! | a video | as 60 seconds of 300 tokens | Google, Video understanding: about 300 a second |
//! | a file of plain text | a token for 4 bytes | an estimate |

use super::medium::{Detail, Medium};

/// The size in pixels that counts for a picture of unknown size.
const UNKNOWN: (u32, u32) = (1_024, 1_024);
/// The number of pages that counts for a document with an unknown number of pages.
const PAGES: u64 = 10;
/// The seconds that count for a sound or a video of unknown length.
const SECONDS: u64 = 60;
/// Tokens of a second of video.
const VIDEO: u64 = 300;
/// Bytes of plain text per token.
const BYTES: u64 = 4;

/// The prices of a provider for pictures, documents, sounds and other media. The formulas, their sources and dates
/// are in a table at the beginning of this type's file and in `docs/context.md`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MediaPrices {
    image: Image,
    /// Tokens of a page.
    page: u64,
    /// Tokens of a second of sound.
    second: u64,
}

/// The formula for the price of a picture.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Image {
    /// `base` tokens, and `tile` more for each tile.
    Tiles { base: u64, tile: u64 },
    /// Patches of 32 pixels.
    Patches {
        /// The greatest number of patches at `high`.
        most: u32,
        /// The greatest number of patches at `original`.
        original: u32,
        /// Whether `auto` is `original`.
        auto_is_original: bool,
        /// Tokens for a hundred patches.
        hundred: u64,
    },
    /// One token for 750 pixels, at most `most` tokens. The picture is scaled so that its long edge is at most
    /// `edge`.
    Area { edge: u32, most: u64 },
    /// At most `most` patches of 28 pixels. The picture is scaled so that its long edge is at most `edge`.
    Small { edge: u32, most: u32 },
    /// Tiles of 768 pixels, each with this number of tokens.
    Large(u64),
    /// Always the same number of tokens.
    Flat(u64),
}

impl MediaPrices {
    const fn of(image: Image) -> Self {
        Self {
            image,
            page: 1_500,
            second: 10,
        }
    }

    pub(crate) const fn tiles(base: u64, tile: u64) -> Self {
        Self::of(Image::Tiles { base, tile })
    }

    /// Returns prices by patches, with `hundred` tokens for a hundred patches.
    pub(crate) const fn patches(hundred: u64) -> Self {
        Self::of(Image::Patches {
            most: 1_536,
            original: 1_536,
            auto_is_original: false,
            hundred,
        })
    }

    /// Returns prices by patches for the models that know `original`.
    pub(crate) const fn fine_patches(auto_is_original: bool) -> Self {
        Self::of(Image::Patches {
            most: 2_500,
            original: 10_000,
            auto_is_original,
            hundred: 120,
        })
    }

    pub(crate) const fn fine_claude() -> Self {
        Self {
            page: 3_000,
            ..Self::of(Image::Small {
                edge: 2_576,
                most: 4_784,
            })
        }
    }

    pub(crate) const fn gemini() -> Self {
        Self {
            page: 258,
            second: 32,
            ..Self::of(Image::Large(258))
        }
    }

    /// Returns the prices for models without a known formula.
    pub(crate) const fn flat() -> Self {
        Self::of(Image::Flat(1_600))
    }

    /// Returns the prices of OpenAI's gpt-4o and gpt-4.1. They also apply to a list in a form of OpenAI if no model
    /// is named.
    ///
    /// ```
    /// use accp_tokens::{Detail, MediaPrices, Medium};
    ///
    /// let image = |detail| Medium::Image { pixels: Some((1_024, 1_024)), detail };
    /// assert_eq!(MediaPrices::openai().tokens(&image(Detail::High)), 765);
    /// assert_eq!(MediaPrices::openai().tokens(&image(Detail::Low)), 85);
    /// ```
    pub const fn openai() -> Self {
        Self::tiles(85, 170)
    }

    /// Returns the prices of Claude before 4.7. They also apply to a list in Anthropic's form if no model is named.
    ///
    /// ```
    /// use accp_tokens::{Detail, MediaPrices, Medium};
    ///
    /// let image = |w, h| Medium::Image { pixels: Some((w, h)), detail: Detail::Auto };
    /// assert_eq!(MediaPrices::anthropic().tokens(&image(1_000, 1_000)), 1_334);
    /// assert_eq!(MediaPrices::anthropic().tokens(&image(8_000, 8_000)), 1_600);
    /// ```
    pub const fn anthropic() -> Self {
        Self {
            page: 3_000,
            ..Self::of(Image::Area {
                edge: 1_568,
                most: 1_600,
            })
        }
    }

    /// Returns the tokens that a provider bills.
    pub fn tokens(&self, medium: &Medium) -> u64 {
        match *medium {
            Medium::Image { pixels, detail } => self.image.tokens(pixels, detail),
            Medium::Document { pages } => pages.map_or(PAGES, u64::from).saturating_mul(self.page),
            Medium::Audio { millis } => millis
                .unwrap_or(SECONDS * 1_000)
                .saturating_mul(self.second)
                .div_ceil(1_000),
            Medium::Video => SECONDS * VIDEO,
            Medium::Text(bytes) => bytes.div_ceil(BYTES),
        }
    }
}

impl Image {
    fn tokens(self, pixels: Option<(u32, u32)>, detail: Detail) -> u64 {
        let (width, height) = pixels.unwrap_or(UNKNOWN);
        let size = (f64::from(width.max(1)), f64::from(height.max(1)));
        match self {
            Self::Tiles { base, .. } if detail == Detail::Low => base,
            Self::Tiles { base, tile } => {
                let size = fitted(size, 2_048.0);
                let short = size.0.min(size.1);
                let size = scaled(size, (768.0 / short).min(1.0));
                base + tile * squares(size, 512.0)
            }
            Self::Patches {
                most,
                original,
                auto_is_original,
                hundred,
            } => {
                let is_original =
                    detail == Detail::Original || (auto_is_original && detail == Detail::Auto);
                let (edge, most) = match detail {
                    Detail::Low => (512.0, most),
                    _ if is_original && original > most => (6_000.0, original),
                    _ => (2_048.0, most),
                };
                (patches(fitted(size, edge), 32.0, most) * hundred).div_ceil(100)
            }
            Self::Area { edge, most } => {
                let (width, height) = fitted(size, f64::from(edge));
                whole((width * height / 750.0).ceil()).clamp(1, most)
            }
            Self::Small { edge, most } => patches(fitted(size, f64::from(edge)), 28.0, most),
            Self::Large(tile) if width <= 384 && height <= 384 => tile,
            Self::Large(tile) => tile * squares(size, 768.0),
            Self::Flat(tokens) => tokens,
        }
    }
}

/// Returns the size, scaled down if necessary so that its long edge is at most `edge`.
fn fitted(size: (f64, f64), edge: f64) -> (f64, f64) {
    scaled(size, (edge / size.0.max(size.1)).min(1.0))
}

fn scaled((width, height): (f64, f64), by: f64) -> (f64, f64) {
    // A very long picture keeps at least one line of pixels.
    ((width * by).max(1.0), (height * by).max(1.0))
}

/// Returns how many squares with this side cover a picture.
fn squares((width, height): (f64, f64), side: f64) -> u64 {
    // Scaling leaves an error after the ninth digit, which must not add a square.
    let along = |edge: f64| whole((edge / side - 1e-9).ceil().max(1.0));
    along(width).saturating_mul(along(height))
}

/// Returns how many patches a picture has after it was scaled down to at most `most` patches.
fn patches(size: (f64, f64), edge: f64, most: u32) -> u64 {
    let all = squares(size, edge);
    if all <= u64::from(most) {
        return all;
    }
    let by = (f64::from(most) * edge * edge / (size.0 * size.1)).sqrt();
    let near = scaled(size, by);
    // Scales the picture down further, until one side is a whole number of patches.
    let whole = |long: f64| ((long / edge).floor() / (long / edge)).max(f64::MIN_POSITIVE);
    let size = scaled(near, whole(near.0).min(whole(near.1)));
    squares(size, edge).min(u64::from(most))
}

/// Converts a whole number that is at least 0 and far below 2^53.
fn whole(number: f64) -> u64 {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole, and not negative"
    )]
    let whole = number as u64;
    whole
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn image(width: u32, height: u32, detail: Detail) -> Medium {
        let pixels = Some((width, height));
        Medium::Image { pixels, detail }
    }

    #[test]
    fn pictures_cost_what_the_published_examples_say() {
        let cost = |prices: MediaPrices, w, h| prices.tokens(&image(w, h, Detail::High));
        for (w, h, tokens) in [(1_024, 1_024, 765), (2_048, 4_096, 1_105), (512, 512, 255)] {
            assert_eq!(cost(MediaPrices::openai(), w, h), tokens, "{w} x {h}");
        }
        let plain = MediaPrices::patches(100);
        for (w, h, tokens) in [(1_024, 1_024, 1_024), (1_800, 2_400, 1_452)] {
            assert_eq!(cost(plain, w, h), tokens, "{w} x {h}");
        }
        assert_eq!(cost(MediaPrices::patches(162), 1_024, 1_024), 1_659);
        // A picture of 640 x 480 has 300 patches, and 192 at `low`. A patch costs 1.2 tokens.
        let fine = MediaPrices::fine_patches(true);
        assert_eq!(cost(fine, 640, 480), 360);
        assert_eq!(fine.tokens(&image(640, 480, Detail::Low)), 231);
        assert_eq!(fine.tokens(&image(6_400, 1_440, Detail::Original)), 9_701);
        for (w, h, tokens) in [(200, 200, 54), (1_092, 1_092, 1_590), (1_920, 1_080, 1_600)] {
            assert_eq!(cost(MediaPrices::anthropic(), w, h), tokens, "{w} x {h}");
        }
        let claude = MediaPrices::fine_claude();
        for (w, h, tokens) in [
            (1_000, 1_000, 1_296),
            (1_092, 1_092, 1_521),
            (1_920, 1_080, 2_691),
        ] {
            assert_eq!(cost(claude, w, h), tokens, "{w} x {h}");
        }
        assert!((4_600..=4_784).contains(&cost(claude, 3_840, 2_160)));
    }

    #[test]
    fn what_is_unknown_costs_a_stated_constant() {
        let all = [
            (
                Medium::Image {
                    pixels: None,
                    detail: Detail::Auto,
                },
                765,
                1_399,
            ),
            (Medium::Document { pages: None }, 15_000, 30_000),
            (Medium::Document { pages: Some(3) }, 4_500, 9_000),
            (Medium::Audio { millis: None }, 600, 600),
            (
                Medium::Audio {
                    millis: Some(1_510),
                },
                16,
                16,
            ),
            (Medium::Video, 18_000, 18_000),
            (Medium::Text(4_001), 1_001, 1_001),
        ];
        for (medium, openai, anthropic) in all {
            assert_eq!(MediaPrices::openai().tokens(&medium), openai, "{medium:?}");
            assert_eq!(
                MediaPrices::anthropic().tokens(&medium),
                anthropic,
                "{medium:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_size_has_a_price_within_the_bounds(
            width: u32,
            height in prop_oneof![Just(1_u32), 1..5_000_u32, Just(u32::MAX)],
            detail in prop::sample::select(vec![Detail::Low, Detail::Auto, Detail::High, Detail::Original]),
        ) {
            let medium = image(width, height, detail);
            for (prices, most) in [
                (MediaPrices::openai(), 85 + 170 * 8),
                (MediaPrices::patches(162), 2_489),
                (MediaPrices::fine_patches(false), 12_000),
                (MediaPrices::anthropic(), 1_600),
                (MediaPrices::fine_claude(), 4_784),
                (MediaPrices::flat(), 1_600),
            ] {
                let tokens = prices.tokens(&medium);
                prop_assert!((1..=most).contains(&tokens), "{prices:?}: {tokens}");
                // A picture that is turned costs the same.
                prop_assert_eq!(tokens, prices.tokens(&image(height, width, detail)));
            }
        }
    }
}
