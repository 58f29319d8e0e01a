//! The rules for the fields of a struct or of a variant.

use accp_registry::protocol::{CommonField, Presence, UnknownKeys};
use accp_registry::{Protocol, Schema, Type, nearest};

use super::aliases;
use super::scope::{FieldScope, wire};
use super::unheld::{check_unheld, ignored, nothing_is_lost, unheld};
use super::{Owner, hint, types};
use crate::ast::Field;
use crate::ctxt::Ctxt;
use crate::resolved::{Fields, Filled, Member, Role, Wire};

/// Checks every field against the rules, and puts the fields in the order of the wire.
pub(super) fn fields<'a>(
    cx: &Ctxt,
    owner: Owner<'_>,
    list: &'a [Field<'a>],
    scope: FieldScope<'_>,
) -> Fields<'a> {
    let mut members: Vec<Member<'a>> = Vec::new();
    let mut meant = Vec::new();
    let is_faulty = owner.attrs.is_faulty || list.iter().any(|field| field.attrs.is_faulty);
    for field in list {
        if field.attrs.is_faulty && field.attrs.rename.is_none() {
            continue;
        }
        if !field.attrs.is_faulty {
            conflicts(cx, field);
        }
        match role(cx, field, scope) {
            Ok(role) => {
                holds(cx, field, &role, scope);
                never_null(cx, field, &role, scope);
                unique(cx, field, &role, &members);
                members.push(Member { field, role });
            }
            Err(near) => meant.extend(near),
        }
    }
    aliases::check(cx, &mut members, scope);
    // The field that seems to be missing may be a field with a mistake in its attribute, so no second error follows.
    if !is_faulty {
        required(cx, owner, &members, &meant, scope);
        common(cx, owner, &members);
    }
    flatten_or_deny(cx, owner, &members);
    let order = order(cx.protocol, &members, scope);
    let unheld = unheld(owner, &members, &order, scope);
    meant.extend(ignored(cx, owner, &unheld, scope));
    if !is_faulty {
        nothing_is_lost(cx, owner, &members, &unheld, &meant, scope);
    }
    check_unheld(cx, &members, &unheld, scope);
    Fields {
        schema: scope.schema.map(|schema| schema.code.clone()),
        order,
        unheld,
        filled: filled(cx.protocol, &members),
        is_text: cx.protocol.is_text(),
        known: known(&members, scope.schema),
        members,
        is_closed: owner.attrs.deny_unknown_fields.is_some()
            || cx.protocol.unknown_keys == UnknownKeys::Refused,
    }
}

/// Refuses attributes that contradict each other on one field.
fn conflicts(cx: &Ctxt, field: &Field<'_>) {
    let attrs = &field.attrs;
    let flags = [
        ("skip", &attrs.skip),
        (cx.protocol.rust.rest, &attrs.flatten),
        ("default", &attrs.default),
    ];
    let set: Vec<_> = flags
        .iter()
        .filter_map(|(name, flag)| Some((*name, flag.as_ref()?)))
        .collect();
    for (at, (name, flag)) in set.iter().enumerate().skip(1) {
        cx.error(
            flag,
            format!("`{name}` and `{}` exclude each other", set[at - 1].0),
        );
    }
    if let (Some(with), Some((name, _))) =
        (&attrs.with, set.iter().find(|(name, _)| *name != "default"))
    {
        cx.error(
            with,
            format!("`with` and `{name}` exclude each other: such a field has no value to convert"),
        );
    }
    if let (Some(rename), Some((name, _))) = (
        &attrs.rename,
        set.iter().find(|(name, _)| *name != "default"),
    ) {
        cx.error(
            rename,
            format!("`rename` and `{name}` exclude each other: such a field has no key"),
        );
    }
}

/// Returns the role of a field. If the registry does not have the field, reports the mistake, and returns the name
/// that was probably meant as the error.
fn role(cx: &Ctxt, field: &Field<'_>, scope: FieldScope<'_>) -> Result<Role, Option<String>> {
    if field.attrs.skip.is_some() {
        return Ok(Role::Skip);
    }
    if field.attrs.flatten.is_some() {
        return Ok(Role::Flatten);
    }
    match scope.schema {
        Some(schema) => of_schema(cx, field, schema, scope).map(Role::Wire),
        None => undeclared(cx, field, scope).map(Role::Wire).ok_or(None),
    }
}

/// Checks that the field belongs to the schema.
fn of_schema(
    cx: &Ctxt,
    field: &Field<'_>,
    schema: &Schema,
    scope: FieldScope<'_>,
) -> Result<Wire, Option<String>> {
    let name = field.name();
    let Some((index, spec)) = schema.field(&name).filter(|(_, spec)| spec.name == name) else {
        let names: Vec<_> = schema
            .fields
            .iter()
            .map(|spec| spec.name.as_str())
            .collect();
        let by_short = schema.field(&name).map(|(_, spec)| spec.name.as_str());
        let near = by_short.or_else(|| nearest(&name, names.iter().copied()));
        let message = format!(
            "schema {} has no field `{name}`{}",
            schema.code,
            hint(near, "its fields", &names)
        );
        cx.error(field.name_tokens(), message);
        return Err(near.map(str::to_owned));
    };
    let wire = wire(schema, index, spec, scope);
    if let Some(flag) = &field.attrs.default
        && wire.default.is_none()
    {
        cx.error(flag, no_default(cx, &name, schema, scope));
    }
    Ok(wire)
}

fn no_default(cx: &Ctxt, name: &str, schema: &Schema, scope: FieldScope<'_>) -> String {
    let with: Vec<_> = schema
        .fields
        .iter()
        .enumerate()
        .filter(|(index, _)| schema.has_default(*index, scope.head))
        .map(|(_, field)| field.name.as_str())
        .collect();
    let frame = scope.in_frame(cx.protocol);
    let code = &schema.code;
    let start = format!("schema {code} has no default for `{name}`{frame}");
    if with.is_empty() {
        start
    } else {
        format!("{start}; it has one for {}", with.join(", "))
    }
}

/// Returns the wire form of a field without a schema. The name may be any key of the grammar. In a frame, the key is
/// the standard abbreviation of the name, if there is one (draft section 4.2).
fn undeclared(cx: &Ctxt, field: &Field<'_>, scope: FieldScope<'_>) -> Option<Wire> {
    let name = field.name();
    if let Some(flag) = &field.attrs.default {
        cx.error(
            flag,
            "defaults come from the registry: without a schema there is none",
        );
    }
    let rule = cx.protocol.key;
    let pairs = cx.protocol.pairs_key;
    if !(rule.fits)(&name) || pairs == Some(name.as_str()) {
        let but = pairs.map(|key| format!(", and not '{key}' alone"));
        let message = format!(
            "`{name}` is not a valid key: {} only{}",
            rule.words,
            but.unwrap_or_default()
        );
        cx.error(field.name_tokens(), message);
        return None;
    }
    let reserved = cx.protocol.schema_key.filter(|key| *key == name);
    if let Some(key) = reserved.filter(|_| scope.is_frame()) {
        let message = format!("the key `{key}` is reserved for the code of the schema");
        cx.error(field.name_tokens(), message);
        return None;
    }
    let short = cx.protocol.abbreviate(&name);
    let key = short
        .filter(|_| scope.is_frame())
        .unwrap_or(&name)
        .to_owned();
    Some(Wire {
        name,
        key,
        aliases: Vec::new(),
        ty: Type::Any,
        default: None,
        is_required: cx.protocol.requires(&field.name()),
        inline: false,
    })
}

/// Checks that the Rust type of a field can hold its registry type, if the derive knows both types.
fn holds(cx: &Ctxt, field: &Field<'_>, role: &Role, scope: FieldScope<'_>) {
    let wire = match role {
        Role::Wire(wire) => wire,
        Role::Flatten => return takes_params(cx, field),
        Role::Skip => return,
    };
    // The module of `with` converts the value, so the derive does not check the type of the field.
    if field.attrs.with.is_some() {
        return;
    }
    if cx.protocol.is_text() {
        if let Some(ty) = types::no_text(field.ty) {
            let shown = types::shown(ty);
            let message = format!("`{shown}` cannot travel; use {}", types::TEXT_HOLDERS);
            cx.error(ty, message);
        }
        return;
    }
    if let Some(default) = &wire.default
        && let Some(ty) = types::too_small(field.ty, default)
    {
        let (shown, name) = (types::shown(ty), &wire.name);
        cx.error(
            ty,
            format!("`{shown}` cannot hold {default}, the default of `{name}`"),
        );
    }
    let Some((ty, of)) = types::misfit(field.ty, &wire.ty) else {
        return;
    };
    let shown = types::shown(ty);
    let instead = types::instead_of(ty).filter(|_| *of == Type::Any);
    let holders = instead.unwrap_or_else(|| types::holders(cx.protocol, of));
    let message = if let Some(schema) = scope.schema {
        let (code, name, declared) = (&schema.code, &wire.name, &wire.ty);
        let part = if *of == wire.ty {
            String::from("it")
        } else {
            of.to_string()
        };
        let start = format!("schema {code} declares `{name}` as {declared}");
        match types::optional(ty).map(types::shown) {
            Some(inner) => format!("{start}, so no item of it is null: use `{inner}`"),
            None => format!("{start}: `{shown}` cannot hold {part}; use {holders}"),
        }
    } else {
        format!("`{shown}` cannot travel; use {holders}")
    };
    cx.error(ty, message);
}

/// Reports a well-known type that cannot take the params of a `flatten` field.
fn takes_params(cx: &Ctxt, field: &Field<'_>) {
    if cx.protocol.is_text() {
        if types::no_pairs(field.ty) {
            let (shown, rest) = (types::shown(field.ty), cx.protocol.rust.rest);
            let message = format!(
                "`{shown}` cannot take the fields of `{rest}` in their order: use a `Vec` of pairs \
                 of texts, as in `Vec<(String, String)>`"
            );
            cx.error(field.ty, message);
        }
        return;
    }
    if let Some(shown) = types::no_map(field.ty) {
        let rest = cx.protocol.rust.rest;
        let message = format!(
            "`{shown}` cannot take the params of `{rest}`: use `Map<'_>`, or a `BTreeMap` or `HashMap` from texts to values"
        );
        cx.error(field.ty, message);
    }
}

/// Refuses an `Option` for a required field: the field is never absent and never null.
fn never_null(cx: &Ctxt, field: &Field<'_>, role: &Role, scope: FieldScope<'_>) {
    let Role::Wire(wire) = role else { return };
    let inner = types::optional(field.ty).filter(|_| wire.is_required);
    let Some(inner) = inner.map(types::shown) else {
        return;
    };
    let name = &wire.name;
    let message = match scope.schema {
        Some(schema) => {
            let (code, frame) = (&schema.code, scope.in_frame(cx.protocol));
            format!(
                "schema {code} requires `{name}`{frame}, so it is never absent or null: use `{inner}`"
            )
        }
        None => format!(
            "every {} has `{name}`, so it is never absent: use `{inner}`",
            cx.protocol.noun
        ),
    };
    cx.error(field.ty, message);
}

/// Checks that no other field has the same key, and that at most one field takes unknown keys.
fn unique(cx: &Ctxt, field: &Field<'_>, role: &Role, before: &[Member<'_>]) {
    for other in before {
        match (role, &other.role) {
            (Role::Wire(wire), Role::Wire(taken)) if wire.key == taken.key => {
                let message = format!(
                    "`{}` is taken by the field `{}`",
                    wire.name, other.field.ident
                );
                return cx.error(field.name_tokens(), message);
            }
            (Role::Flatten, Role::Flatten) => {
                let what = if cx.protocol.is_text() {
                    "fields"
                } else {
                    "params"
                };
                let message = format!("the unknown {what} are taken by `{}`", other.field.ident);
                return cx.error(&field.attrs.flatten, message);
            }
            _ => {}
        }
    }
}

/// Checks that the struct has every required field. A required field in `meant` counts as present: the struct has a
/// misspelt field that was probably meant to be this field.
fn required(
    cx: &Ctxt,
    owner: Owner<'_>,
    members: &[Member<'_>],
    meant: &[String],
    scope: FieldScope<'_>,
) {
    let Some(schema) = scope.schema else { return };
    let has = |name: &str| {
        let is_meant = meant.iter().any(|other| other == name);
        is_meant
            || members
                .iter()
                .any(|member| matches!(&member.role, Role::Wire(wire) if wire.name == name))
    };
    for name in schema.required(scope.head).filter(|name| !has(name)) {
        let frame = scope.in_frame(cx.protocol);
        let message = format!(
            "schema {} requires the field `{name}`{frame}: add it",
            schema.code
        );
        cx.error_at(owner.ident.span(), message);
    }
}

/// Checks that the struct has the fields that every message has.
fn common(cx: &Ctxt, owner: Owner<'_>, members: &[Member<'_>]) {
    let common = cx.protocol.common.iter();
    let required = common.filter(|field| field.presence == Presence::Required);
    for CommonField { key, .. } in required.filter(|field| !has(members, field.key)) {
        let noun = cx.protocol.noun;
        let message = format!("every {noun} has the field `{key}`: add it");
        cx.error_at(owner.ident.span(), message);
    }
}

/// Returns the fields that every message has, but the struct does not have. A writer fills them in.
fn filled(protocol: &Protocol, members: &[Member<'_>]) -> Vec<Filled> {
    let common = protocol.common.iter().enumerate();
    let free = common.filter(|(_, field)| !has(members, field.key));
    let filled = free.filter_map(|(index, field)| {
        let Presence::Filled(text) = field.presence else {
            return None;
        };
        let before = protocol.common.iter().take(index);
        let before = before.filter(|other| has(members, other.key)).count();
        let key = field.key;
        Some(Filled { before, key, text })
    });
    filled.collect()
}

fn has(members: &[Member<'_>], key: &str) -> bool {
    let mut members = members.iter();
    members.any(|member| matches!(&member.role, Role::Wire(wire) if wire.key == key))
}

/// Checks that the struct does not both keep unknown params (`flatten`) and refuse them (`deny_unknown_fields`).
fn flatten_or_deny(cx: &Ctxt, owner: Owner<'_>, members: &[Member<'_>]) {
    let flatten = members
        .iter()
        .find_map(|member| member.field.attrs.flatten.as_ref());
    if let (Some(_), Some(deny)) = (flatten, &owner.attrs.deny_unknown_fields) {
        let rest = cx.protocol.rust.rest;
        let message = format!("`deny_unknown_fields` and `{rest}` exclude each other");
        cx.error_at(deny.span(), message);
    }
}

/// Returns the order of the members on the wire. The members of a frame with a schema are in the order of the schema,
/// so that the same message always has the same text. In a packet, the fields that every message has come first, and
/// the other members are in the order of the struct. All other members are sorted by key.
fn order(protocol: &Protocol, members: &[Member<'_>], scope: FieldScope<'_>) -> Vec<usize> {
    let mut order: Vec<(usize, &Wire)> = members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| match &member.role {
            Role::Wire(wire) => Some((at, wire)),
            _ => None,
        })
        .collect();
    match scope.schema {
        Some(schema) if scope.is_frame() => {
            order.sort_by_cached_key(|(_, wire)| schema.field(&wire.name).map(|(index, _)| index));
        }
        _ if protocol.is_text() => {
            order.sort_by_key(|(_, wire)| protocol.common_index(&wire.key).unwrap_or(usize::MAX));
        }
        _ => order.sort_by_key(|(_, wire)| wire.key.as_str()),
    }
    order.into_iter().map(|(at, _)| at).collect()
}

/// Returns every name that the schema knows. Without a schema, returns every name that the struct knows.
fn known(members: &[Member<'_>], schema: Option<&Schema>) -> Vec<String> {
    let mut names = Vec::new();
    match schema {
        Some(schema) => {
            for field in &schema.fields {
                names.extend(field.keys().map(str::to_owned));
            }
        }
        None => {
            for member in members {
                if let Role::Wire(wire) = &member.role {
                    names.extend(wire.keys().cloned());
                }
            }
        }
    }
    names
}
