//! Unpacks the body of a request, and returns its text.

use std::borrow::Cow;
use std::io::Read as _;

use axum::http::HeaderMap;
use axum::http::header;
use flate2::read::MultiGzDecoder;

/// Returns the text of a body, or the reason why the gateway cannot read it.
pub(crate) fn text(headers: &HeaderMap, bytes: &[u8], most: usize) -> Result<String, String> {
    let encoding = headers.get(header::CONTENT_ENCODING);
    let encoding = encoding.map_or(Cow::Borrowed("identity"), |value| {
        String::from_utf8_lossy(value.as_bytes())
    });
    let unpacked = match &*encoding.trim().to_ascii_lowercase() {
        "" | "identity" => bytes.to_vec(),
        "gzip" | "x-gzip" => bounded(MultiGzDecoder::new(bytes), most)?,
        "zstd" => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(bytes);
            bounded(
                decoder.map_err(|error| format!("the body is not zstd: {error}"))?,
                most,
            )?
        }
        _ => {
            return Err(format!(
                "the body has the encoding {encoding}; the gateway reads gzip and zstd"
            ));
        }
    };
    String::from_utf8(unpacked).map_err(|error| format!("the body is not UTF-8 text: {error}"))
}

/// Reads the output of a decoder, up to `most` bytes.
fn bounded(decoder: impl std::io::Read, most: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let read = decoder.take(most as u64 + 1).read_to_end(&mut out);
    read.map_err(|error| format!("the body cannot be unpacked: {error}"))?;
    if out.len() > most {
        return Err(format!("the body has more than {most} bytes unpacked"));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    #[test]
    fn packed_bodies_are_read_up_to_a_bound() {
        let body = "{\"messages\":[]}".repeat(100);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        gzip.write_all(body.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        let zstd = compress_to_vec(body.as_bytes(), CompressionLevel::Fastest);
        for (name, packed) in [("gzip", &gzip), ("GZIP", &gzip), ("zstd", &zstd)] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(name));
            assert_eq!(
                text(&headers, packed, 1_500).as_deref(),
                Ok(&*body),
                "{name}"
            );
            let over = text(&headers, packed, 1_499).unwrap_err();
            assert!(over.contains("more than 1499 bytes"), "{over}");
            assert!(text(&headers, b"plain", 1_500).is_err());
        }
        assert_eq!(text(&HeaderMap::new(), b"x", 1).as_deref(), Ok("x"));
        assert!(
            text(&HeaderMap::new(), &[0xff], 1)
                .unwrap_err()
                .contains("not UTF-8 text")
        );
    }
}
