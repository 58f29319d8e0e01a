//! Seals parts of prompts in the ledger, under a key from a file of its own (ChaCha20-Poly1305).

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::{digest, hmac};

/// The beginning of each sealed text. A text that is not sealed is JSON, so it never begins like this.
const SEALED: &str = "sealed:";
/// The fewest bytes of a key file.
const LEAST: usize = 32;

/// A key that seals and opens texts.
pub(crate) struct Seal(LessSafeKey);

impl Seal {
    /// Makes the key from the content of a key file.
    ///
    /// # Errors
    /// If the content is too short.
    pub(crate) fn of(file: &[u8]) -> Result<Self, String> {
        let file = content(file);
        if file.len() < LEAST {
            return Err(format!(
                "expected a key file of at least {LEAST} random bytes, such as `openssl rand -base64 32` makes, found {}",
                file.len()
            ));
        }
        let file = hmac::Key::new(hmac::HMAC_SHA256, file);
        let key = hmac::sign(&file, b"accp gateway: parts of prompts");
        let key = UnboundKey::new(&CHACHA20_POLY1305, key.as_ref());
        let key = key.map_err(|_| "the key file gives no key".to_owned())?;
        Ok(Self(LessSafeKey::new(key)))
    }

    /// Seals a text that belongs to a session.
    ///
    /// # Errors
    /// If the system gives no random bytes.
    pub(crate) fn seal(&self, session: &str, text: &str) -> Result<String, String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|error| error.to_string())?;
        let mut sealed = text.as_bytes().to_vec();
        let unique = Nonce::assume_unique_for_key(nonce);
        self.0
            .seal_in_place_append_tag(unique, Aad::from(session), &mut sealed)
            .map_err(|_| "the text is too long to be sealed".to_owned())?;
        let whole = [&nonce[..], &sealed].concat();
        Ok(format!("{SEALED}{}", BASE64.encode(whole)))
    }

    /// Opens a text of a session; `None` if another key sealed it, or somebody has changed it.
    pub(crate) fn open(&self, session: &str, sealed: &str) -> Option<String> {
        let whole = BASE64.decode(sealed.strip_prefix(SEALED)?).ok()?;
        let (nonce, text) = whole.split_first_chunk::<NONCE_LEN>()?;
        let mut text = text.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let text = self.0.open_in_place(nonce, Aad::from(session), &mut text);
        String::from_utf8(text.ok()?.to_vec()).ok()
    }
}

/// Returns the bytes of a key file that are the key. Blanks around a text are not part of it. In random bytes a blank
/// is a byte like any other, where the rest would be too short.
fn content(file: &[u8]) -> &[u8] {
    let text = file.trim_ascii();
    if text.len() < LEAST && !file.is_ascii() {
        file
    } else {
        text
    }
}

/// Returns whether a text is sealed.
pub(crate) fn is_sealed(text: &str) -> bool {
    text.starts_with(SEALED)
}

/// Returns a name that identifies a key file, and that shows nothing of its content.
pub(crate) fn name_of(file: &[u8]) -> Vec<u8> {
    let file = hmac::Key::new(hmac::HMAC_SHA256, content(file));
    let name = hmac::sign(&file, b"accp gateway: name of the key");
    digest::digest(&digest::SHA256, name.as_ref())
        .as_ref()
        .to_vec()
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_with_its_key_for_its_session() {
        let of = |byte: u8| Seal::of(&[byte; 40]).unwrap();
        let sealed = of(1).seal("s", "{\"a\":1}").unwrap();
        assert!(is_sealed(&sealed) && !is_sealed("{\"a\":1}"));
        assert_eq!(of(1).open("s", &sealed).as_deref(), Some("{\"a\":1}"));
        assert_eq!(of(2).open("s", &sealed), None);
        assert_eq!(of(1).open("t", &sealed), None);
        let mut other = sealed.clone();
        other.replace_range(20..21, if &sealed[20..21] == "A" { "B" } else { "A" });
        assert_eq!(of(1).open("s", &other), None);
        assert_eq!(of(1).open("s", "sealed:"), None);
        assert_ne!(of(1).seal("s", "{\"a\":1}").unwrap(), sealed);
        assert!(Seal::of(b"short").unwrap_err().contains("openssl rand"));
        assert_ne!(name_of(&[1; 40]), name_of(&[2; 40]));
    }

    #[test]
    fn a_blank_at_the_edge_of_random_bytes_counts_and_one_around_a_text_does_not() {
        let mut bytes = [0x99; LEAST];
        bytes[0] = b'\t';
        let sealed = Seal::of(&bytes).unwrap().seal("s", "{}").unwrap();
        bytes[0] = b' ';
        assert_eq!(Seal::of(&bytes).unwrap().open("s", &sealed), None);
        bytes[0] = b'\t';
        assert_eq!(
            Seal::of(&bytes).unwrap().open("s", &sealed).as_deref(),
            Some("{}")
        );
        let text = [b'k'; LEAST];
        let line = [&text[..], b"\n"].concat();
        assert_eq!(name_of(&line), name_of(&text));
        let short = [&text[1..], b"\n"].concat();
        assert!(Seal::of(&short).unwrap_err().ends_with("found 31"));
    }
}
