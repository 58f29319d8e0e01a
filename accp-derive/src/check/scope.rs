//! The schema and the frame to which the fields of an item belong.

use accp_registry::{Field as Spec, Protocol, Schema};

use crate::resolved::Wire;

/// The schema and the head against which fields are checked.
#[derive(Clone, Copy)]
pub(super) struct FieldScope<'r> {
    pub(super) schema: Option<&'r Schema>,
    /// The words of the head; empty in a nested struct.
    pub(super) head: &'r [String],
}

impl FieldScope<'_> {
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
pub(super) fn wire(schema: &Schema, index: usize, field: &Spec, scope: FieldScope<'_>) -> Wire {
    let has_default = schema.has_default(index, scope.head);
    Wire {
        name: field.name.clone(),
        key: field.short.clone(),
        aliases: field.aliases.clone(),
        ty: field.ty.clone(),
        default: field.default_wire.clone().filter(|_| has_default),
        is_required: schema.requires(field, scope.head),
        inline: field.inline,
    }
}
