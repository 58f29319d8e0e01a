//! The place of the fields of an item: their schema and their frame.

use accp_registry::{Field as Spec, Protocol, Schema};

use crate::plan::Wire;

/// The schema and the head that fields are checked against.
#[derive(Clone, Copy)]
pub(super) struct Where<'r> {
    pub(super) schema: Option<&'r Schema>,
    /// Empty in a nested struct.
    pub(super) head: &'r [String],
}

impl Where<'_> {
    pub(super) fn is_frame(self) -> bool {
        !self.head.is_empty()
    }

    /// Returns ` in req:schedule`; empty in a nested struct.
    pub(super) fn in_frame(self, protocol: &Protocol) -> String {
        if self.is_frame() {
            format!(" in {}", protocol.title(self.head))
        } else {
            String::new()
        }
    }
}

/// Returns a field as the registry declares it.
pub(super) fn wire(schema: &Schema, index: usize, field: &Spec, place: Where<'_>) -> Wire {
    let has_default = schema.has_default(index, place.head);
    Wire {
        name: field.name.clone(),
        key: field.short.clone(),
        ty: field.ty.clone(),
        default: field.default_wire.clone().filter(|_| has_default),
        is_required: schema.requires(field, place.head),
        inline: field.inline,
    }
}
