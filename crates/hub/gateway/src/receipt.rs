//! Receipts: what a session has cost, signed.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::ledger::{Entry, Ledger, LedgerError};
use crate::prices::Prices;
use crate::route::Provider;

/// The name of the signing key among the secrets of a ledger. The number of the key follows it.
const KEY: &str = "signing";

/// What a session has cost, as a receipt says it. Costs are in tokens of plain input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Receipt {
    /// The session.
    pub session: String,
    /// When the first and the last request of the session came, in milliseconds of Unix time.
    pub from: i64,
    /// See [`from`](Self::from).
    pub to: i64,
    /// The number of requests, and of those whose answer had a count of the provider.
    pub requests: u64,
    /// See [`requests`](Self::requests).
    pub counted: u64,
    /// Tokens by the provider's own count: plain input, written to the cache, read from it, output.
    pub tokens: [u64; 4],
    /// What the session has cost.
    pub cost: f64,
    /// What the session would have cost with the unchanged lists of the client.
    pub plain: f64,
    /// The prices of each model: its name, the factors of a read, of a write and of output, the source, and the date.
    pub prices: Vec<(String, f64, f64, f64, String, String)>,
    /// The SHA-256 over all requests: their times, their digests as given and as sent, and their tokens.
    pub digest: String,
}

/// A receipt with its signature.
#[derive(Debug, Serialize, Deserialize)]
struct Signed {
    receipt: Box<RawValue>,
    key: String,
    signature: String,
}

/// Why there is no receipt, or why it is not valid.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReceiptError {
    /// The ledger knows no such session.
    #[error("the ledger has no session {0}; `accp gateway report` lists them")]
    NoSession(String),
    /// The ledger cannot be read.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The text is not a receipt.
    #[error("expected a receipt as `accp gateway receipt` writes it: {0}")]
    Form(String),
    /// The signature is not that of the key.
    #[error("the signature does not hold: the receipt has changed since it was signed")]
    Signature,
    /// Another key signed it.
    #[error("it is signed by the key {found}, and not by {expected}")]
    Key {
        /// The key that signed it.
        found: String,
        /// The key that was expected.
        expected: String,
    },
    /// The signing key cannot be made or read.
    #[error("the signing key cannot be used")]
    NoKey,
}

impl Receipt {
    /// Sums up a session.
    ///
    /// # Errors
    /// If the ledger cannot be read or has no such session.
    pub fn of(ledger: &Ledger, session: &str) -> Result<Self, ReceiptError> {
        let entries = ledger.entries(Some(session))?;
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return Err(ReceiptError::NoSession(session.to_owned()));
        };
        let mut receipt = Self {
            session: session.to_owned(),
            from: first.at,
            to: last.at,
            requests: entries.len() as u64,
            counted: 0,
            tokens: [0; 4],
            cost: 0.0,
            plain: 0.0,
            prices: Vec::new(),
            digest: String::new(),
        };
        let mut models = BTreeSet::new();
        let mut all = digest::Context::new(&digest::SHA256);
        for entry in &entries {
            all.update(&line(entry));
            models.insert((entry.provider.clone(), entry.model.clone()));
            if let (Some(usage), Some(bill)) = (entry.usage, entry.bill) {
                receipt.counted += 1;
                let written = usage.written + usage.hourly;
                let tokens = [usage.input, written, usage.read, usage.output];
                for (sum, tokens) in receipt.tokens.iter_mut().zip(tokens) {
                    *sum += tokens;
                }
                receipt.cost += bill.cost;
                receipt.plain += bill.plain;
            }
        }
        receipt.digest = hex::encode(all.finish());
        receipt.prices = models
            .into_iter()
            .map(|(provider, model)| {
                let provider = if provider == Provider::Anthropic.name() {
                    Provider::Anthropic
                } else {
                    Provider::OpenAi
                };
                let prices = Prices::of(provider, &model);
                let (source, date) = (prices.source.clone(), prices.date.clone());
                (
                    model,
                    prices.read,
                    prices.write,
                    prices.output,
                    source,
                    date,
                )
            })
            .collect();
        Ok(receipt)
    }

    /// Returns the receipt as JSON, signed with the newest key of the ledger.
    ///
    /// # Errors
    /// If the ledger gives no key.
    pub fn signed(&self, ledger: &Ledger) -> Result<String, ReceiptError> {
        let key = signing_key(ledger)?;
        let text = serde_json::to_string(self).unwrap_or_default();
        let signature = BASE64.encode(key.sign(text.as_bytes()));
        let signed = Signed {
            receipt: RawValue::from_string(text)
                .map_err(|error| ReceiptError::Form(error.to_string()))?,
            key: BASE64.encode(key.public_key()),
            signature,
        };
        Ok(serde_json::to_string(&signed).unwrap_or_default() + "\n")
    }

    /// Checks the signature of a receipt, and returns its content. Without `key`, this uses the key in the receipt
    /// itself. That shows that nothing has changed, but not who signed the receipt.
    ///
    /// # Errors
    /// If the text is not a receipt, or its signature is not valid.
    ///
    /// ```
    /// use accp_gateway::{Receipt, ReceiptError};
    ///
    /// let error = Receipt::verify("{}", None).unwrap_err();
    /// assert!(matches!(error, ReceiptError::Form(_)));
    /// ```
    pub fn verify(text: &str, key: Option<&str>) -> Result<Self, ReceiptError> {
        let form = |error: &dyn std::fmt::Display| ReceiptError::Form(error.to_string());
        let signed: Signed = serde_json::from_str(text).map_err(|error| form(&error))?;
        if let Some(expected) = key.filter(|key| **key != signed.key) {
            return Err(ReceiptError::Key {
                found: signed.key,
                expected: expected.to_owned(),
            });
        }
        let decoded = |text: &str| BASE64.decode(text).map_err(|error| form(&error));
        let (public, signature) = (decoded(&signed.key)?, decoded(&signed.signature)?);
        let public = UnparsedPublicKey::new(&ED25519, public);
        let holds = public.verify(signed.receipt.get().as_bytes(), &signature);
        holds.map_err(|_| ReceiptError::Signature)?;
        serde_json::from_str(signed.receipt.get()).map_err(|error| form(&error))
    }

    /// Returns the public key with which a ledger signs now. The first call makes the key.
    ///
    /// # Errors
    /// If the ledger gives no key.
    pub fn key(ledger: &Ledger) -> Result<String, ReceiptError> {
        Ok(BASE64.encode(signing_key(ledger)?.public_key()))
    }

    /// Makes a new key, with which the ledger signs from now on. Receipts that older keys signed stay valid.
    ///
    /// # Errors
    /// If the ledger gives no key.
    pub fn rotate(ledger: &Ledger) -> Result<String, ReceiptError> {
        new_key(ledger, newest(ledger)?.map_or(0, |(number, _)| number + 1))?;
        Self::key(ledger)
    }
}

fn signing_key(ledger: &Ledger) -> Result<Ed25519KeyPair, ReceiptError> {
    let bytes = match newest(ledger)? {
        Some((_, bytes)) => bytes,
        None => new_key(ledger, 0)?,
    };
    Ed25519KeyPair::from_pkcs8(&bytes).map_err(|_| ReceiptError::NoKey)
}

/// Returns the newest key and its number.
fn newest(ledger: &Ledger) -> Result<Option<(u64, Vec<u8>)>, ReceiptError> {
    let mut newest = None;
    let mut number = 0;
    while let Some(bytes) = ledger.found(&format!("{KEY}-{number}"))? {
        newest = Some((number, bytes));
        number += 1;
    }
    Ok(newest)
}

fn new_key(ledger: &Ledger, number: u64) -> Result<Vec<u8>, ReceiptError> {
    let new = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let new = new.map_err(|_| ReceiptError::NoKey)?;
    Ok(ledger.kept(&format!("{KEY}-{number}"), new.as_ref())?)
}

/// Returns the bytes of a request that go into the digest of a receipt.
fn line(entry: &Entry) -> Vec<u8> {
    let mut line = entry.at.to_le_bytes().to_vec();
    line.extend(&entry.given_digest);
    line.extend(&entry.sent_digest);
    let usage = entry.usage.unwrap_or_default();
    let written = usage.written + usage.hourly;
    for tokens in [usage.input, written, usage.read, usage.output] {
        line.extend(tokens.to_le_bytes());
    }
    line
}
