//! Unpacks answers while they pass. The gateway asks for answers that it can read, but a provider may pack them
//! anyway.

use std::borrow::Cow;
use std::io::{self, Write as _};

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use futures_util::stream::{self, BoxStream};
use futures_util::{Stream, StreamExt as _};

/// This many packed bytes are unpacked at once, because they may become a thousand times as many.
const AT_ONCE: usize = 4 << 10;

/// The pieces of an answer on its way to a client. If the answer breaks off, its error comes last.
pub(crate) type Pieces = BoxStream<'static, io::Result<Bytes>>;

/// Unpacks one answer.
#[derive(Debug)]
pub(crate) enum Unpack {
    /// The answer is not packed.
    Plain,
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(ZlibDecoder<Vec<u8>>),
}

impl Unpack {
    /// Returns the decoder for an answer with these headers; `None` if the gateway cannot unpack the answer.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut encodings = headers.get_all(header::CONTENT_ENCODING).iter();
        let Some(encoding) = encodings.next() else {
            return Some(Self::Plain);
        };
        if encodings.next().is_some() {
            return None;
        }
        match &*encoding.to_str().ok()?.trim().to_ascii_lowercase() {
            "" | "identity" => Some(Self::Plain),
            "gzip" | "x-gzip" => Some(Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new())))),
            "deflate" => Some(Self::Deflate(ZlibDecoder::new(Vec::new()))),
            _ => None,
        }
    }

    /// Takes the next bytes, and returns them unpacked.
    ///
    /// # Errors
    /// If the bytes are not packed as the headers say.
    pub(crate) fn feed<'b>(&mut self, bytes: &'b [u8]) -> io::Result<Cow<'b, [u8]>> {
        let out = match self {
            Self::Plain => return Ok(bytes.into()),
            Self::Gzip(packed) => {
                packed.write_all(bytes)?;
                packed.flush()?;
                packed.get_mut()
            }
            Self::Deflate(packed) => {
                packed.write_all(bytes)?;
                packed.flush()?;
                packed.get_mut()
            }
        };
        Ok(std::mem::take(out).into())
    }
}

/// Returns the pieces of an answer, unpacked. An answer that the gateway cannot unpack stays packed.
pub(crate) fn pieces(answer: reqwest::Response) -> Pieces {
    let unpack = Unpack::of(answer.headers()).unwrap_or(Unpack::Plain);
    let raw = answer.bytes_stream();
    let raw = raw.map(|piece| piece.map_err(io::Error::other)).boxed();
    match unpack {
        Unpack::Plain => raw,
        unpack => unpacked(unpack, raw).fuse().boxed(),
    }
}

fn unpacked(unpack: Unpack, raw: Pieces) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::unfold(Some((unpack, raw, Bytes::new())), async |state| {
        let (mut unpack, mut raw, mut left) = state?;
        loop {
            if left.is_empty() {
                match raw.next().await? {
                    Ok(piece) => left = piece,
                    Err(error) => return Some((Err(error), None)),
                }
            }
            let part = left.split_to(left.len().min(AT_ONCE));
            match unpack.feed(&part) {
                Ok(out) if out.is_empty() => {}
                Ok(out) => {
                    let out = Bytes::from(out.into_owned());
                    return Some((Ok(out), Some((unpack, raw, left))));
                }
                Err(error) => return Some((Err(error), None)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    fn of(encoding: &'static str) -> Option<Unpack> {
        let encoding = HeaderValue::from_static(encoding);
        Unpack::of(&HeaderMap::from_iter([(
            header::CONTENT_ENCODING,
            encoding,
        )]))
    }

    #[test]
    fn an_answer_is_unpacked_in_any_pieces() {
        let text = b"data: {\"x\":1}\n\n".repeat(90);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut deflate = ZlibEncoder::new(Vec::new(), Compression::fast());
        deflate.write_all(&text).unwrap();
        for (encoding, packed) in [
            ("identity", text.clone()),
            ("GZIP", gzip.finish().unwrap()),
            ("deflate", deflate.finish().unwrap()),
        ] {
            for step in [1, 7, 4096] {
                let mut unpack = of(encoding).unwrap();
                let pieces = packed.chunks(step).map(|piece| unpack.feed(piece).unwrap());
                let all: Vec<u8> = pieces.flat_map(Cow::into_owned).collect();
                assert!(all == text, "{encoding}, {step}");
            }
        }
        assert!(of("gzip").unwrap().feed(b"plain words").is_err());
    }

    #[test]
    fn an_encoding_that_nobody_here_reads_is_told() {
        for encoding in ["br", "zstd", "gzip, br"] {
            assert!(of(encoding).is_none(), "{encoding}");
        }
        assert!(matches!(Unpack::of(&HeaderMap::new()), Some(Unpack::Plain)));
    }
}
