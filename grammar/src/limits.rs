//! Checks of the limits of a frame.

pub use accp_registry::Limits;

use crate::ast::{Frame, Param, Value, ValueKind};
use crate::error::{Fault, SyntaxError};

/// Refuses a text with too many bytes.
pub(crate) fn check_length(
    length: usize,
    limits: &Limits,
    fault: fn(usize) -> Fault,
) -> Result<(), SyntaxError> {
    let most = limits.frame_bytes;
    if length > most {
        return Err(SyntaxError::limit(most, fault(most)));
    }
    Ok(())
}

/// Returns the place of the first bracket that is nested deeper than the limit.
///
/// The result is exact for every text that begins like a frame. In such a text, each bracket without an escape opens
/// or closes a level. The body or the metadata is one more level around the values.
pub(crate) fn too_deep(text: &str, depth: u32) -> Option<usize> {
    let most = u64::from(depth) + 1;
    let mut open = 0_u64;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'{' | b'[' if open == most => return Some(at),
            b'{' | b'[' => open += 1,
            b'}' | b']' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Refuses a frame with too many params, or too many elements in total.
pub(crate) fn check_counts(frame: &Frame<'_>, limits: &Limits) -> Result<(), SyntaxError> {
    let mut counter = Counter {
        read: 0,
        most: limits.elements,
    };
    for params in [Some(&frame.payload), frame.metadata.as_ref()]
        .into_iter()
        .flatten()
    {
        if let Some(extra) = params.get(limits.params as usize) {
            return Err(SyntaxError::limit(
                extra.span.start,
                Fault::Params(limits.params),
            ));
        }
        counter.params(params)?;
    }
    Ok(())
}

struct Counter {
    read: u32,
    most: u32,
}

impl Counter {
    fn params(&mut self, params: &[Param<'_>]) -> Result<(), SyntaxError> {
        params.iter().try_for_each(|param| {
            self.one(param.span.start)?;
            self.value(&param.value)
        })
    }

    fn value(&mut self, value: &Value<'_>) -> Result<(), SyntaxError> {
        match &value.kind {
            ValueKind::Array(elements) => elements.iter().try_for_each(|element| {
                self.one(element.span.start)?;
                self.value(element)
            }),
            ValueKind::Map(entries) => self.params(entries),
            ValueKind::Scalar(_) | ValueKind::Null | ValueKind::Ref(_) => Ok(()),
        }
    }

    fn one(&mut self, at: usize) -> Result<(), SyntaxError> {
        if self.read == self.most {
            return Err(SyntaxError::limit(at, Fault::Elements(self.most)));
        }
        self.read += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_with;

    fn is_within(text: &str, limits: Limits) -> bool {
        parse_with(text, &limits).is_ok()
    }

    #[test]
    fn each_limit_is_met_exactly() {
        let text = r"@a>b:c{a:[1,{d:[]}]|b:\[\{}[m:1,n:2]";
        let exact = Limits {
            frame_bytes: text.len(),
            depth: 3,
            params: 2,
            elements: 7,
        };
        assert!(is_within(text, exact));
        for over in [
            Limits {
                frame_bytes: text.len() - 1,
                ..exact
            },
            Limits { depth: 2, ..exact },
            Limits { params: 1, ..exact },
            Limits {
                elements: 6,
                ..exact
            },
        ] {
            assert!(!is_within(text, over), "{over:?}");
        }
    }

    #[test]
    fn counts_what_the_documentation_counts() {
        let text = "@a>b:c{a:[1,2]|b:{c:~}}[seq:1]";
        let limits = |elements| Limits {
            elements,
            ..Limits::default()
        };
        assert!(is_within(text, limits(6)));
        assert!(!is_within(text, limits(5)));
    }

    #[test]
    fn depth_is_bounded_whatever_the_setting() {
        let limits = Limits {
            depth: u32::MAX,
            ..Limits::default()
        };
        let nested = |depth| format!("@a>b:c{{d:{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_within(&nested(Limits::MAX_DEPTH as usize), limits));
        assert!(!is_within(&nested(Limits::MAX_DEPTH as usize + 1), limits));
        assert!(!is_within(&nested(30_000), limits));
    }
}
