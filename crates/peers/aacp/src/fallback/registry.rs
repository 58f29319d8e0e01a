//! The trait of registries, and their errors.

use std::fmt;

use accp_registry::Hash;

use super::claim::{Claim, ClaimDecision, ClaimRequest};
use super::entry::{Entry, EntryKey};
use super::model::ModelError;

/// Keeps instructions with their packets (draft section 6.3), and records which caller may call the model for a new
/// instruction.
///
/// Every method is one transaction: it is done as a whole and durably, or not at all. Several callers,
/// in threads and processes, may have the same registry open.
pub trait Registry {
    /// Returns the entry of a key, without counting a request.
    fn find(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError>;

    /// Returns the entry of a key, and counts one more request that it answers.
    fn hit(&mut self, key: &EntryKey) -> Result<Option<Entry>, RegistryError>;

    /// Returns the entries of a domain after an id, in the order of their ids: at most `limit`.
    fn page(
        &mut self,
        dom: &str,
        after: Option<Hash>,
        limit: usize,
    ) -> Result<Vec<Entry>, RegistryError>;

    /// Asks for the right to call the model: [`decide`](super::decide) decides by the row of the key. If there is an
    /// entry by now, the entry answers the request and counts it. If the registry knows that a caller is dead, it may
    /// end the lease of that caller.
    fn claim(&mut self, key: &EntryKey, ask: &ClaimRequest) -> Result<Claimed, RegistryError>;

    /// Ends a call.
    ///
    /// If the key has an entry already, because an earlier call has stored one after its lease had ended, the registry
    /// keeps that entry. Then the old entry answers the request, and counts it. Otherwise the registry stores the new
    /// entry with a count of 1. A failure is written to the row of the claim, if the row still belongs to this call.
    /// Returns the entry that answers.
    fn settle(
        &mut self,
        key: &EntryKey,
        claim: &Claim,
        found: Result<&Entry, &ModelError>,
    ) -> Result<Option<Entry>, RegistryError>;
}

/// The answer to a request for the right to call the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed {
    /// There is an entry now.
    Entry(Entry),
    /// There is no entry, and the caller has to do this.
    Decided(ClaimDecision),
}

/// A failure of a registry: where, what is wrong, and the cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryError {
    /// What went wrong.
    pub kind: RegistryErrorKind,
    text: String,
}

/// The kinds of [`RegistryError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RegistryErrorKind {
    /// Another process holds the lock: try again.
    Busy,
    /// The disk is full.
    Full,
    /// The disk or its file system failed, or the file cannot be opened.
    Io,
    /// The file is damaged.
    Corrupt,
    /// Another version wrote the file.
    Version,
    /// The file is not a registry.
    Foreign,
    /// Others can read the file.
    Open,
    /// There is another entry of this key.
    Conflict,
}

impl RegistryErrorKind {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "registry-busy",
            Self::Full => "registry-full",
            Self::Io => "registry-io",
            Self::Corrupt => "registry-corrupt",
            Self::Version => "registry-version",
            Self::Foreign => "registry-foreign",
            Self::Open => "registry-open-to-others",
            Self::Conflict => "registry-conflict",
        }
    }
}

impl RegistryError {
    /// Makes an error with this text, which says where, what is wrong, and what helps.
    pub fn new(kind: RegistryErrorKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for RegistryError {}
