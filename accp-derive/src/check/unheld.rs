//! The rules for the fields of a schema that no member holds.

use accp_registry::{Type, nearest};

use super::scope::{FieldScope, wire};
use super::{Owner, hint, types};
use crate::ctxt::Ctxt;
use crate::resolved::{Member, Role, UnheldField};

/// Returns the fields of the schema that no member holds.
pub(super) fn unheld(
    owner: Owner<'_>,
    members: &[Member<'_>],
    order: &[usize],
    scope: FieldScope<'_>,
) -> Vec<UnheldField> {
    let Some(schema) = scope.schema else {
        return Vec::new();
    };
    let index_of = |at: &usize| match &members[*at].role {
        Role::Wire(wire) => schema.field(&wire.name).map(|(index, _)| index),
        _ => None,
    };
    let held: Vec<Option<usize>> = order.iter().map(index_of).collect();
    let fields = schema.fields.iter().enumerate();
    let fields = fields.filter(|(index, _)| !held.contains(&Some(*index)));
    let ignored = |name: &str| owner.attrs.ignore.iter().any(|text| text.value() == name);
    fields
        .map(|(index, field)| UnheldField {
            before: held.iter().filter(|held| **held < Some(index)).count(),
            wire: wire(schema, index, field, scope),
            is_ignored: ignored(&field.name),
        })
        .collect()
}

/// Checks that the struct loses no field with a default: if it wrote a frame again without the field, the next reader
/// would take the default instead of the original value. A field without a default may be lost, because
/// `Typed::dropped` reports it.
pub(super) fn nothing_is_lost(
    cx: &Ctxt,
    owner: Owner<'_>,
    members: &[Member<'_>],
    unheld: &[UnheldField],
    meant: &[String],
    scope: FieldScope<'_>,
) {
    let is_flatten = |member: &&Member<'_>| matches!(member.role, Role::Flatten);
    let flatten = members.iter().find(is_flatten);
    let Some(schema) = scope.schema.filter(|_| flatten.is_none()) else {
        return;
    };
    let lost = unheld
        .iter()
        .filter(|unheld| !unheld.is_ignored && !meant.contains(&unheld.wire.name));
    let lost =
        lost.filter_map(|UnheldField { wire, .. }| Some((&wire.name, wire.default.as_ref()?)));
    let lost: Vec<_> = lost.collect();
    if lost.is_empty() || owner.attrs.ignores_any {
        return;
    }
    let each = |show: &dyn Fn(&str, &str) -> String| -> String {
        let each = lost.iter().map(|(name, default)| show(name, default));
        each.collect::<Vec<_>>().join(", ")
    };
    let ours = cx.protocol.rust.attribute;
    let message = format!(
        "schema {} gives defaults to {}{}: without these fields, another value would be lost; \
         add them, or accept the loss with `#[{ours}({})]`",
        schema.code,
        each(&|name, default| format!("`{name}` ({default})")),
        scope.in_frame(cx.protocol),
        each(&|name, _| format!("ignore = {name:?}")),
    );
    cx.error_at(owner.ident.span(), message);
}

/// Checks that the type of a `flatten` field can hold the fields that the struct does not have.
pub(super) fn check_unheld(
    cx: &Ctxt,
    members: &[Member<'_>],
    unheld: &[UnheldField],
    scope: FieldScope<'_>,
) {
    let flatten = members
        .iter()
        .find_map(|member| Some((member.field.attrs.flatten.as_ref()?, member.field.ty)));
    let (Some((flatten, ty)), Some(schema)) = (flatten, scope.schema) else {
        return;
    };
    // Another check reports a type that is not a map, so this check adds no second error.
    if types::no_map(ty).is_some() {
        return;
    }
    let (ours, rest) = (cx.protocol.rust.attribute, cx.protocol.rust.rest);
    for UnheldField { wire, .. } in unheld.iter().filter(|unheld| !unheld.is_ignored) {
        let (name, code) = (&wire.name, &schema.code);
        let cure = format!("add the field, or accept its loss with `#[{ours}(ignore = {name:?})]`");
        if let Type::Enum(_) | Type::Schema(_) = types::innermost(&wire.ty) {
            let message = format!(
                "`{rest}` cannot hold `{name}`, which schema {code} declares as {}: {cure}",
                wire.ty
            );
            cx.error(flatten, message);
        } else if let Some(value) = types::map_value(ty)
            && types::misfit(value, &wire.ty).is_some()
        {
            let shown = types::shown(value);
            let message = format!(
                "`{shown}` cannot hold `{name}`, which schema {code} declares as {}: use `Value<'_>`, {cure}",
                wire.ty
            );
            return cx.error(value, message);
        }
    }
}

/// Checks each ignored field: the schema must have the field, and no member may hold it. For each wrong name, returns
/// the name that was probably meant.
pub(super) fn ignored(
    cx: &Ctxt,
    owner: Owner<'_>,
    unheld: &[UnheldField],
    scope: FieldScope<'_>,
) -> Vec<String> {
    let mut meant = Vec::new();
    for text in &owner.attrs.ignore {
        let name = text.value();
        let Some(schema) = scope.schema else {
            cx.error(
                text,
                "only a field of a schema can be ignored: there is no schema",
            );
            continue;
        };
        if !unheld.iter().any(|unheld| unheld.wire.name == name) {
            let names: Vec<_> = unheld
                .iter()
                .map(|unheld| unheld.wire.name.as_str())
                .collect();
            let by_key = unheld.iter().find(|unheld| unheld.wire.key == name);
            let by_key = by_key.map(|unheld| unheld.wire.name.as_str());
            let near = by_key.or_else(|| nearest(&name, names.iter().copied()));
            let hint = hint(near, "it can ignore", &names);
            let message = format!(
                "schema {} has no field `{name}` beside the members{hint}",
                schema.code
            );
            cx.error(text, message);
            meant.extend(near.map(str::to_owned));
        }
    }
    meant
}
