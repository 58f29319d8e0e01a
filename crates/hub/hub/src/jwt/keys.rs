//! A set of public keys, in JSON (RFC 7517).

use std::collections::HashMap;

use jsonwebtoken::jwk::{
    AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse,
};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use serde_json::Value;

/// The keys of a set that the hub can use.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// Keys by their `kid`.
    by_name: HashMap<String, Key>,
    /// Why the other keys are left out.
    others: Vec<String>,
}

impl Keys {
    pub(crate) fn get(&self, name: &str) -> Option<&Key> {
        self.by_name.get(name)
    }

    /// Returns the reason if the hub can use no key of the set. `None`: there is such a key.
    pub(crate) fn lacks_keys(&self) -> Option<String> {
        self.by_name.is_empty().then(|| {
            let others = self.others.join("; ");
            format!("expected a key for RS256, ES256 or EdDSA with a `kid`; {others}")
        })
    }
}

/// A public key with its one algorithm, which a token cannot choose.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) algorithm: Algorithm,
    pub(crate) key: DecodingKey,
}

#[derive(serde::Deserialize)]
struct Set {
    keys: Vec<Value>,
}

/// Reads a set. Keys for other purposes, such as encryption, are named in the hub's log and left out (RFC 7517,
/// section 5). A set may become empty, which withdraws its keys.
pub(crate) fn parse(text: &str) -> Result<Keys, String> {
    let set: Set = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut keys = Keys::default();
    for (number, value) in (1..).zip(set.keys) {
        // RFC 7518, section 6: `d` is the private part in every kind of key pair, and `k` is a
        // shared secret.
        if let Some(part) = ["d", "k"].iter().find(|part| value.get(part).is_some()) {
            return Err(format!(
                "key {number}: it holds its secret part (`{part}`); the hub needs the public part alone"
            ));
        }
        match key(value) {
            Ok((name, key)) => {
                if keys.by_name.insert(name, key).is_some() {
                    return Err(format!("key {number}: this `kid` stands there twice"));
                }
            }
            Err(why) => {
                tracing::warn!(number, why, "a key is left out");
                keys.others.push(format!("key {number}: {why}"));
            }
        }
    }
    Ok(keys)
}

fn key(value: Value) -> Result<(String, Key), String> {
    let jwk: Jwk = serde_json::from_value(value).map_err(|error| error.to_string())?;
    let common = jwk.common;
    let name = common
        .key_id
        .ok_or("it has no `kid`, by which a token names its key")?;
    if !matches!(common.public_key_use, None | Some(PublicKeyUse::Signature)) {
        return Err("its `use` is not `sig`".to_owned());
    }
    let operations = common.key_operations;
    if operations.is_some_and(|some| !some.contains(&KeyOperations::Verify)) {
        return Err("its `key_ops` have no `verify`".to_owned());
    }
    let unreadable = |error: jsonwebtoken::errors::Error| error.to_string();
    let (algorithm, key) = match &jwk.algorithm {
        AlgorithmParameters::RSA(rsa) => {
            let key = DecodingKey::from_rsa_components(&rsa.n, &rsa.e).map_err(unreadable)?;
            (Algorithm::RS256, rsa_key(&key)?)
        }
        AlgorithmParameters::EllipticCurve(point) if point.curve == EllipticCurve::P256 => {
            let key = DecodingKey::from_ec_components(&point.x, &point.y).map_err(unreadable)?;
            (Algorithm::ES256, of_length(key, 65)?)
        }
        AlgorithmParameters::OctetKeyPair(pair) if pair.curve == EllipticCurve::Ed25519 => {
            let key = DecodingKey::from_ed_components(&pair.x).map_err(unreadable)?;
            (Algorithm::EdDSA, of_length(key, 32)?)
        }
        _ => return Err("it is not of RSA, P-256 or Ed25519".to_owned()),
    };
    match common.key_algorithm {
        Some(named) if named != KeyAlgorithm::from(algorithm) => {
            Err(format!("its `alg` is not {algorithm:?}"))
        }
        _ => Ok((name, Key { algorithm, key })),
    }
}

/// Removes leading zeros, with which some programs write the modulus (RFC 7518, section 6.3.1.1).
fn rsa_key(key: &DecodingKey) -> Result<DecodingKey, String> {
    let DecodingKeyKind::RsaModulusExponent { n, e } = key.kind() else {
        return Err("it has no modulus".to_owned());
    };
    let start = n.iter().take_while(|byte| **byte == 0).count();
    let n = &n[start..];
    if (256..=1024).contains(&n.len()) {
        Ok(DecodingKey::from_rsa_raw_components(n, e))
    } else {
        let bits = n.len() * 8;
        Err(format!("it has {bits} bits, and not 2,048 to 8,192"))
    }
}

fn of_length(key: DecodingKey, bytes: usize) -> Result<DecodingKey, String> {
    match key.try_get_as_bytes() {
        Ok(point) if point.len() == bytes => Ok(key),
        _ => Err("its coordinates do not have the length of its curve".to_owned()),
    }
}
