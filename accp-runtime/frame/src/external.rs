//! Values that leave a frame by reference.

use alloc::format;
use alloc::string::String;
use core::fmt;

use accp_registry::ErrorCode;
use accp_registry::lexical::is_ref_key;

use crate::error::EncodeError;
use crate::value::Value;

/// Takes the values that go by reference (draft section 3.3, item 4).
///
/// `put` must keep the value before the frame with its reference is sent. It must give equal keys
/// only to equal values. An error stops the encoding, and nothing is written.
///
/// ```
/// use accp_runtime::{EncodeError, EncodeOptions, External, Externals, DynamicFrame, Registry};
///
/// #[derive(Debug, Default)]
/// struct Cold(Vec<String>);
/// impl Externals for Cold {
///     fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
///         self.0.push(external.value.to_string());
///         Ok(format!("cold.k{}", self.0.len()))
///     }
/// }
///
/// let mut cold = Cold::default();
/// let message = DynamicFrame::new("a", "req", "plan")?.with("note", "x".repeat(51));
/// let options = EncodeOptions { externals: Some(&mut cold), ..EncodeOptions::default() };
/// let frame = message.encode_with(&Registry::standard(), options)?;
/// assert_eq!(frame, "@a>req:plan{note:$cold.k1}");
/// assert_eq!(cold.0.len(), 1);
/// # Ok::<(), EncodeError>(())
/// ```
pub trait Externals: fmt::Debug {
    /// Keeps a value and returns the key of its reference, without the `$`.
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError>;
}

/// A value that does not travel in its frame.
#[derive(Debug, Clone, Copy)]
pub struct External<'v, 'a> {
    /// The value.
    pub value: &'v Value<'a>,
    /// The reason why the value leaves the frame.
    pub reason: Reason,
}

/// The reason why a value leaves its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// More than 50 characters (draft section 3.3, item 4).
    Characters,
    /// Arrays and maps nested deeper than the limit (draft section 9, item 5).
    Depth,
    /// The frame would exceed the limit of bytes, params or elements.
    Limit,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::Characters, Self::Depth, Self::Limit];

    /// Returns the name in reports: `characters`, `depth`, `limit`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Characters => "characters",
            Reason::Depth => "depth",
            Reason::Limit => "limit",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Characters => "the value has more than 50 characters",
            Reason::Depth => "the value is nested too deep for a frame",
            Reason::Limit => "the value does not fit in the limits of a frame",
        })
    }
}

/// Hands a value to the caller and returns the key of its reference.
pub(crate) fn put_external(
    externals: &mut Option<&mut dyn Externals>,
    value: &Value<'_>,
    reason: Reason,
) -> Result<String, EncodeError> {
    let Some(externals) = externals else {
        let message = format!(
            "{reason}, and no references are allowed: pass `EncodeOptions::externals`, list the \
             field as inline in the registry, or set `EncodeOptions::inline`"
        );
        return Err(EncodeError::new(ErrorCode::INVALID_TYPE, message));
    };
    let key = externals.put(External { value, reason })?;
    if is_ref_key(&key) {
        Ok(key)
    } else {
        let message = format!("`{key}` is not a reference key: letters, digits, '_' and '.' only");
        Err(EncodeError::new(ErrorCode::INVALID_TYPE, message))
    }
}
