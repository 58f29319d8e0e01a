//! Two variants of an enum must not accept the same frame.

use core::option::Option;

use super::said::Said;
use super::shape::equal;
use crate::FrameType;
use crate::frame_types::FrameTypes;

/// Returns the first type that both have.
const fn shared(one: &FrameTypes, other: &FrameTypes) -> Option<FrameType<'static>> {
    match (one, other) {
        (FrameTypes::One(a), FrameTypes::One(b)) if is_same(a, b) => Option::Some(*a),
        (FrameTypes::Several(types), _) => {
            let mut at = 0;
            while at < types.len() {
                if let Option::Some(frame) = shared(&types[at], other) {
                    return Option::Some(frame);
                }
                at += 1;
            }
            Option::None
        }
        (FrameTypes::One(_), FrameTypes::Several(_)) => shared(other, one),
        _ => Option::None,
    }
}

/// Returns whether one frame is of both types. Lengths are compared first.
const fn is_same(a: &FrameType<'_>, b: &FrameType<'_>) -> bool {
    let schema = match (a.schema, b.schema) {
        (Option::Some(a), Option::Some(b)) => a.len() == b.len() && equal(a, b),
        (Option::None, Option::None) => true,
        _ => false,
    };
    schema
        && a.operation.len() == b.operation.len()
        && equal(a.operation, b.operation)
        && equal(a.intent.as_str(), b.intent.as_str())
}

/// Returns the error for the variant at `at` if a variant before it accepts a frame of its type.
pub const fn taken(variants: &[(&str, FrameTypes)], at: usize) -> Option<Said> {
    let (name, types) = variants[at];
    let mut before = 0;
    while before < at {
        let (other, others) = variants[before];
        if let Option::Some(frame) = shared(&types, &others) {
            let said = Said::of("`")
                .and(frame.intent.as_str().as_bytes())
                .and(b":");
            let said = said.and(frame.operation.as_bytes()).and(b"`");
            let said = match frame.schema {
                Option::Some(code) => said.and(b" of schema ").and(code.as_bytes()),
                Option::None => said,
            };
            let said = said.and(b" is the variant `").and(other.as_bytes());
            let said = said.and(b"` already, so `").and(name.as_bytes());
            return Option::Some(
                said.and(
                    b"` would never be read: one of the two needs another operation or schema",
                ),
            );
        }
        before += 1;
    }
    Option::None
}
