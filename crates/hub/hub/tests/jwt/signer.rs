//! Signers of tokens: the issuer, and attackers.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac::HMAC_SHA256;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use serde_json::{Value, json};

pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.expect("a clock").as_secs()
}

pub(crate) fn base64(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn bytes(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).expect("base64")
}

/// Returns the part of a token over which the signature is made.
pub(crate) fn join(head: &Value, claims: &Value) -> String {
    join_text(head, &claims.to_string())
}

fn join_text(head: &Value, claims: &str) -> String {
    format!(
        "{}.{}",
        base64(head.to_string().as_bytes()),
        base64(claims.as_bytes())
    )
}

pub(crate) fn hmac(secret: &[u8], kid: &str, claims: &Value) -> String {
    let signed = join(&json!({"alg": "HS256", "kid": kid}), claims);
    let key = ring::hmac::Key::new(HMAC_SHA256, secret);
    let tag = ring::hmac::sign(&key, signed.as_bytes());
    format!("{signed}.{}", base64(tag.as_ref()))
}

/// A key of ES256.
pub(crate) struct Es {
    name: &'static str,
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl Es {
    pub(crate) fn new(name: &'static str) -> Self {
        let (by, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(by, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(by, key.as_ref(), &random).expect("a key");
        Self { name, pair, random }
    }

    pub(crate) fn point(&self) -> Vec<u8> {
        self.pair.public_key().as_ref().to_vec()
    }

    pub(crate) fn public(&self) -> Value {
        let point = self.point();
        let (x, y) = point[1..].split_at(32);
        json!({"kty": "EC", "crv": "P-256", "kid": self.name, "x": base64(x), "y": base64(y)})
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_with(json!({}), claims)
    }

    /// Signs with a head that has these members, added to the usual ones or in their place.
    pub(crate) fn sign_with(&self, more: Value, claims: &Value) -> String {
        let mut head = json!({"alg": "ES256", "typ": "JWT", "kid": self.name});
        let Value::Object(more) = more else {
            unreachable!("an object");
        };
        head.as_object_mut().expect("an object").extend(more);
        self.finish(&join(&head, claims))
    }

    fn finish(&self, signed: &str) -> String {
        let signature = self.pair.sign(&self.random, signed.as_bytes());
        let signature = base64(signature.expect("a signature").as_ref());
        format!("{signed}.{signature}")
    }
}

/// A key of `EdDSA`.
pub(crate) struct Ed {
    name: &'static str,
    pair: Ed25519KeyPair,
}

impl Ed {
    pub(crate) fn new(name: &'static str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        let pair = Ed25519KeyPair::from_pkcs8(key.as_ref()).expect("a key");
        Self { name, pair }
    }

    pub(crate) fn public(&self) -> Value {
        let x = base64(self.pair.public_key().as_ref());
        json!({"kty": "OKP", "crv": "Ed25519", "kid": self.name, "alg": "EdDSA", "x": x})
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.sign_text(&claims.to_string())
    }

    pub(crate) fn sign_text(&self, claims: &str) -> String {
        let signed = join_text(&json!({"alg": "EdDSA", "kid": self.name}), claims);
        let signature = self.pair.sign(signed.as_bytes());
        format!("{signed}.{}", base64(signature.as_ref()))
    }
}
