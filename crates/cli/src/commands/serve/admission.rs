//! The options that say who may use the hub: a file of tokens, and keys for signed tokens.

use std::path::PathBuf;

use accp_hub::{Access, AccessFileError, AnyOf, Jwt, Tokens};

use accp_console::outcome::Failure;

/// The options that say who may use the hub.
#[derive(Debug, clap::Args)]
pub(crate) struct AdmissionArgs {
    /// Let in only clients that show a token from this file or, with --jwks, a signed token
    #[arg(long, value_name = "FILE", env = "ACCP_TOKENS")]
    tokens: Option<PathBuf>,
    /// Let in only clients that show a token (JWT) signed by a key of this file, a JSON Web Key Set
    #[arg(long, value_name = "FILE", env = "ACCP_JWKS")]
    jwks: Option<PathBuf>,
    /// Accept signed tokens of this issuer (`iss`) only
    #[arg(long, value_name = "NAME", requires = "jwks", env = "ACCP_ISSUER")]
    issuer: Option<String>,
    /// Accept signed tokens for this audience (`aud`) only
    #[arg(long, value_name = "NAME", requires = "jwks", env = "ACCP_AUDIENCE")]
    audience: Option<String>,
    /// The claim of a signed token that names the agent
    #[arg(long, value_name = "CLAIM", requires = "jwks", default_value = "sub")]
    agent_claim: String,
    /// The claim of a signed token that lists its sessions, an array
    #[arg(long, value_name = "CLAIM", requires = "jwks")]
    #[arg(default_value = "accp_sessions")]
    sessions_claim: String,
}

impl AdmissionArgs {
    /// Returns whether a caller has to show a token.
    pub(crate) fn is_asked_for(&self) -> bool {
        self.tokens.is_some() || self.jwks.is_some()
    }

    /// Reads the files. Returns `None` if no file is given: then everybody may be any agent.
    pub(crate) fn access(&self) -> Result<Option<AnyOf>, Failure> {
        let unusable = |error: AccessFileError| Failure::Input(error.to_string());
        let mut several: Vec<Box<dyn Access>> = Vec::new();
        if let Some(file) = &self.tokens {
            several.push(Box::new(Tokens::read(file).map_err(unusable)?));
        }
        if let Some(file) = &self.jwks {
            let mut jwt = Jwt::read(file).map_err(unusable)?;
            jwt = jwt.with_claims(&self.agent_claim, &self.sessions_claim);
            if let Some(issuer) = &self.issuer {
                jwt = jwt.with_issuer(issuer);
            }
            if let Some(audience) = &self.audience {
                jwt = jwt.with_audience(audience);
            }
            several.push(Box::new(jwt));
        }
        Ok(self.is_asked_for().then(|| AnyOf::new(several)))
    }
}
