//! The rules for a constructor and its setters.

use proc_macro2::Ident;
use quote::format_ident;
use syn::ext::IdentExt as _;

use super::types;
use crate::ast::Input;
use crate::ctxt::Ctxt;
use crate::resolved::{Fields, Member, Role};

/// The names of methods that every item has, or that most items derive. A setter with such a name would hide the
/// method.
const TAKEN: [&str; 5] = ["new", "into_owned", "default", "clone", "into"];

/// Returns whether the constructor takes the field, because the field is never absent and has no default.
pub(crate) fn is_argument(member: &Member<'_>) -> bool {
    match &member.role {
        Role::Wire(wire) => wire.default.is_none() && types::optional(member.field.ty).is_none(),
        Role::Flatten | Role::Skip => false,
    }
}

/// Returns the name of the setter of a field: a name that would hide another method gets `with_` before it.
pub(crate) fn setter(field: &Ident) -> Ident {
    let name = field.unraw().to_string();
    if TAKEN.contains(&name.as_str()) {
        format_ident!("with_{name}", span = field.span())
    } else {
        field.clone()
    }
}

/// Checks that a constructor can be written: no two setters may have the same name.
pub(super) fn constructor(cx: &Ctxt, input: &Input<'_>, fields: &Fields<'_>) {
    if input.attrs.new.is_none() {
        return;
    }
    let set = fields.members.iter().filter(|member| !is_argument(member));
    let set: Vec<_> = set
        .filter(|member| !matches!(member.role, Role::Skip))
        .collect();
    for member in &set {
        let (field, name) = (member.field.ident, setter(member.field.ident));
        let other = set.iter().find(|other| setter(other.field.ident) == name);
        if let Some(other) = other.filter(|other| *other.field.ident != *field && name == *field) {
            let message = format!(
                "the setter of `{}` has this name too: give one field another name, and the name of \
                 the registry by `#[{}(rename = \"..\")]`",
                other.field.ident, cx.protocol.rust.attribute,
            );
            cx.error(field, message);
        }
    }
}
