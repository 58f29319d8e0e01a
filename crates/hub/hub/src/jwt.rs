//! Tokens that somebody else has signed (JSON Web Tokens, RFC 7519).

mod claims;
mod keys;
mod verify;

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use accp_frame::AgentId;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Validation, decode, decode_header};
use serde_json::{Map, Value};

use crate::access::{Access, Denied, Identified, Identity};
use crate::reload::{AccessFileError, Reloaded};
use claims::Claims;
use keys::Keys;

/// The most bytes of a token. A longer token is refused unread.
const LONGEST: usize = 8 * 1024;
/// Seconds by which clocks may differ.
const LEEWAY: u64 = 30;

/// Tokens that somebody else has signed, checked by the public keys in a file (a JSON Web Key Set, RFC
/// 7517). The signatures are RS256, ES256 or `EdDSA`.
///
/// A token names its key (`kid`), and the key set says how each key signs: a token with another algorithm is
/// refused. A token needs `exp`. If it has `nbf`, that time must have passed. Clocks may differ by 30 seconds.
/// `iss` and `aud` must be the values of [`with_issuer`](Self::with_issuer) and
/// [`with_audience`](Self::with_audience). A token with `aud` is refused if the hub has no audience. Two claims
/// say who the caller is:
///
/// ```json
/// {"sub": "dev", "accp_sessions": ["lunch", "team-*"], "exp": 1790000000}
/// ```
///
/// The hub checks four times a second whether the file has changed. So adding or removing a key needs no restart,
/// and tokens of a removed key are no longer valid.
///
/// `jsonwebtoken` has one provider of cryptography for a process. The first `Jwt` of a program installs
/// one that checks the three kinds of signatures and makes none. A program that itself signs with that
/// crate installs its own first (`CryptoProvider::install_default`).
///
/// ```
/// use accp_hub::{Access, Denied, Jwt};
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("jwks.json");
/// std::fs::write(&file, r#"{"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "2026", "use": "sig",
///     "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#)?;
/// let jwt = Jwt::read(&file)?.with_issuer("https://login.example.com").with_audience("accp");
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// assert_eq!(jwt.identify(Some("guess")).await, Err(Denied::Token));
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Jwt {
    keys: Reloaded<Keys>,
    issuer: Option<String>,
    audience: Option<String>,
    agent: String,
    sessions: String,
}

impl Jwt {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// When the file cannot be read, or holds no key that the hub can use, or a private key.
    pub fn read(file: impl Into<PathBuf>) -> Result<Self, AccessFileError> {
        verify::install();
        let keys = Reloaded::text(file, keys::parse)?;
        // At the start the set must have a key. Later it may be empty, which withdraws all keys.
        if let Some(why) = keys.get().lacks_keys() {
            return Err(keys.unusable(why));
        }
        Ok(Self {
            keys,
            issuer: None,
            audience: None,
            agent: "sub".to_owned(),
            sessions: "accp_sessions".to_owned(),
        })
    }

    /// Lets in only tokens of this issuer (`iss`).
    pub fn with_issuer(self, issuer: impl Into<String>) -> Self {
        let issuer = Some(issuer.into());
        Self { issuer, ..self }
    }

    /// Lets in only tokens for this audience (`aud`): the name of the hub at the issuer.
    pub fn with_audience(self, audience: impl Into<String>) -> Self {
        let audience = Some(audience.into());
        Self { audience, ..self }
    }

    /// Sets the names of two claims: the one that names the agent (`sub`), and the array of the names of its
    /// sessions (`accp_sessions`). A name that ends in `*` stands for all names with the same beginning.
    pub fn with_claims(self, agent: impl Into<String>, sessions: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            sessions: sessions.into(),
            ..self
        }
    }

    fn find(&self, token: &str) -> Result<Identity, Denied> {
        if token.len() > LONGEST {
            return Err(Denied::Token);
        }
        let header = decode_header(token).map_err(|_| Denied::Token)?;
        // A token that requires an extension is refused, because the hub supports none (RFC 7515, section 4.1.11).
        let name = header.kid.filter(|_| header.crit.is_none());
        let keys = self.keys.get();
        let key = name.and_then(|name| keys.get(&name));
        let key = key.ok_or(Denied::Token)?;
        let mut validation = Validation::new(key.algorithm);
        validation.leeway = LEEWAY;
        validation.validate_nbf = true;
        if let Some(issuer) = &self.issuer {
            validation.set_issuer(&[issuer]);
            validation.required_spec_claims.insert("iss".to_owned());
        }
        if let Some(audience) = &self.audience {
            validation.set_audience(&[audience]);
            validation.required_spec_claims.insert("aud".to_owned());
        }
        let token = decode::<Claims>(token, &key.key, &validation);
        let token = token.map_err(|error| {
            let why = denied(error.kind());
            tracing::debug!(%why, "a token is refused");
            why
        })?;
        // The library also accepts an array that holds the issuer, but `iss` is one string (RFC 7519, section 4.1.1).
        let issuer = token.claims.0.get("iss").and_then(Value::as_str);
        if self.issuer.is_some() && issuer != self.issuer.as_deref() {
            return Err(denied(&ErrorKind::InvalidIssuer));
        }
        let identity = self.identity(&token.claims.0)?;
        let expires = token.claims.0.get("exp").and_then(Value::as_f64);
        let ends = expires.and_then(|at| Duration::try_from_secs_f64(at).ok());
        let ends = ends
            .and_then(|at| UNIX_EPOCH.checked_add(at.saturating_add(Duration::from_secs(LEEWAY))));
        Ok(match ends {
            Some(ends) => identity.until(ends),
            None => identity,
        })
    }

    fn identity(&self, claims: &Map<String, Value>) -> Result<Identity, Denied> {
        let agent = claims.get(&self.agent).and_then(Value::as_str);
        let agent = agent.and_then(|agent| AgentId::new(agent).ok());
        let agent = agent.ok_or(Denied::Claims("with a claim that names an agent"))?;
        let sessions = claims.get(&self.sessions).and_then(Value::as_array);
        let names = sessions.and_then(|sessions| {
            let names = sessions.iter().map(Value::as_str);
            names.collect::<Option<Vec<_>>>()
        });
        let expected = Denied::Claims("with a claim that is an array of the names of sessions");
        Ok(Identity::agent(agent.as_str(), names.ok_or(expected)?))
    }
}

/// Returns the refusal of a token. Claims are checked after the signature, so only holders of a signed token learn of
/// them.
fn denied(error: &ErrorKind) -> Denied {
    Denied::Claims(match error {
        ErrorKind::ExpiredSignature => "that has not expired (`exp`)",
        ErrorKind::ImmatureSignature => "that is valid by now (`nbf`)",
        ErrorKind::InvalidIssuer => "of the issuer that the hub knows (`iss`)",
        ErrorKind::InvalidAudience => "that is made for this hub (`aud`)",
        ErrorKind::MissingRequiredClaim(_) | ErrorKind::InvalidClaimFormat(_) => {
            "with `exp`, with `iss` and `aud` if the hub asks for them, and with numbers as times"
        }
        ErrorKind::Json(_) => "whose claims are a JSON object, each once and of its type",
        _ => return Denied::Token,
    })
}

impl Access for Jwt {
    fn identify<'a>(&'a self, token: Option<&'a str>) -> Identified<'a> {
        let found = token
            .ok_or(Denied::Token)
            .and_then(|token| self.find(token));
        Box::pin(async { found })
    }

    fn revision(&self) -> Option<u64> {
        Some(self.keys.revision())
    }
}
