//! The rules for aliases: keys that a reader accepts for a field, and that no writer writes.

use accp_registry::Schema;
use syn::LitStr;

use super::scope::FieldScope;
use crate::ast::Field;
use crate::ctxt::Ctxt;
use crate::resolved::{Member, Role, Wire};

/// Checks the aliases of all fields. With a schema, the registry declares the aliases. Without a schema, the
/// attributes declare them, and this function adds them to the fields.
pub(super) fn check(cx: &Ctxt, members: &mut [Member<'_>], scope: FieldScope<'_>) {
    for at in 0..members.len() {
        let field = members[at].field;
        match &members[at].role {
            Role::Flatten => no_key(cx, field, cx.protocol.rust.rest),
            Role::Skip => no_key(cx, field, "skip"),
            Role::Wire(wire) => match scope.schema {
                Some(schema) => field
                    .attrs
                    .aliases
                    .iter()
                    .for_each(|alias| declared(cx, alias, wire, schema)),
                None => {
                    for alias in &field.attrs.aliases {
                        undeclared(cx, alias, at, members, scope);
                    }
                }
            },
        }
    }
    if scope.schema.is_none() && scope.is_frame() {
        implied(cx, members);
    }
}

fn no_key(cx: &Ctxt, field: &Field<'_>, flag: &str) {
    for alias in &field.attrs.aliases {
        let message = format!("`alias` and `{flag}` exclude each other: such a field has no key");
        cx.error(alias, message);
    }
}

/// Checks that the registry declares the alias too. Otherwise a peer that reads frames with the registry would not
/// know the alias.
fn declared(cx: &Ctxt, alias: &LitStr, wire: &Wire, schema: &Schema) {
    let key = alias.value();
    if wire.aliases.contains(&key) {
        return;
    }
    let (code, name) = (&schema.code, &wire.name);
    let message = if wire.keys().any(|known| *known == key) {
        format!("`{key}` is a name of `{name}` already: remove the alias")
    } else {
        format!(
            "schema {code} has no alias `{key}` for `{name}`: add `\"aliases\": {{ \"{name}\": [\"{key}\"] }}` to \
             the registry, so that everybody reads it"
        )
    };
    cx.error(alias, message);
}

/// Checks an alias of a field without a schema, and adds the alias to the field.
fn undeclared(
    cx: &Ctxt,
    alias: &LitStr,
    at: usize,
    members: &mut [Member<'_>],
    scope: FieldScope<'_>,
) {
    let (key, rule) = (alias.value(), cx.protocol.key);
    if !(rule.fits)(&key) || cx.protocol.pairs_key == Some(key.as_str()) {
        let but = cx
            .protocol
            .pairs_key
            .map(|key| format!(", and not '{key}' alone"));
        let but = but.unwrap_or_default();
        let message = format!("`{key}` is not a valid key: {} only{but}", rule.words);
        return cx.error(alias, message);
    }
    if scope.is_frame() && cx.protocol.schema_key == Some(key.as_str()) {
        let message = format!("the key `{key}` is reserved for the code of the schema");
        return cx.error(alias, message);
    }
    if let Some(taken) = meaning(&key, members) {
        let ident = members[taken].field.ident;
        let message = if taken == at {
            format!("`{key}` is a name of `{ident}` already: remove the alias")
        } else {
            format!("the alias `{key}` is a name of the field `{ident}`: a key has one meaning")
        };
        return cx.error(alias, message);
    }
    if let Role::Wire(wire) = &mut members[at].role {
        wire.aliases.push(key);
    }
}

/// Adds the standard abbreviation of each alias as an alias. An alias may be the old name of the field, and a peer
/// that knew the field by that name wrote its abbreviation.
fn implied(cx: &Ctxt, members: &mut [Member<'_>]) {
    for at in 0..members.len() {
        let aliases = match &members[at].role {
            Role::Wire(wire) => wire.aliases.clone(),
            Role::Flatten | Role::Skip => continue,
        };
        for alias in aliases {
            let short = cx.protocol.abbreviate(&alias);
            let free = short.filter(|short| meaning(short, members).is_none());
            if let (Some(short), Role::Wire(wire)) = (free, &mut members[at].role) {
                wire.aliases.push(short.to_owned());
            }
        }
    }
}

/// Returns the member that a key means.
fn meaning(key: &str, members: &[Member<'_>]) -> Option<usize> {
    members.iter().position(|member| match &member.role {
        Role::Wire(wire) => wire.keys().any(|known| known == key),
        Role::Flatten | Role::Skip => false,
    })
}
