//! The code that writes and reads fields, for structs and for variants.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::{LitByteStr, Type as RustType};

use super::compiler_checked::{checked_span, compiler_checked};
use super::kind;
use super::lifetimes::span_of;
use super::owned::{is_owned, type_to_read};
use super::with::With;
use crate::ast::{Field, Input};
use crate::resolved::{Fields, Member, Role, UnheldField, Wire};

/// Returns the name of the local variable that holds the value of a member.
pub(super) fn slot(at: usize) -> Ident {
    format_ident!("f{at}", span = Span::call_site())
}

/// How generated code gets at the fields of a value.
#[derive(Clone, Copy)]
pub(super) enum Access {
    /// `&self.name`
    OfSelf,
    /// The variable of [`slot`], which a pattern has bound to the field.
    Bound,
}

impl Access {
    /// Returns the code for a reference to the value of a member.
    pub(super) fn of(self, fields: &Fields<'_>, at: usize) -> TokenStream {
        let Member { field, .. } = &fields.members[at];
        let span = span_of(field.ty);
        match self {
            Self::OfSelf => {
                let ident = field.ident;
                let this = Ident::new("self", Span::call_site());
                quote_spanned!(span=> &#this.#ident)
            }
            Self::Bound => {
                let slot = Ident::new(&slot(at).to_string(), span);
                quote_spanned!(span=> #slot)
            }
        }
    }
}

/// Returns what to do if a payload does not have the field: take the default, report a fault, or leave the field
/// absent.
fn absent(wire: &Wire) -> TokenStream {
    match &wire.default {
        Some(text) => quote!(_p::Absent::Default(#text)),
        None if wire.is_required => quote!(_p::Absent::Fault),
        None => quote!(_p::Absent::Nothing),
    }
}

/// Returns the code that writes the params of a frame, in the order of the wire.
pub(super) fn encode_params(input: &Input<'_>, fields: &Fields<'_>, access: Access) -> TokenStream {
    let flatten = fields
        .members
        .iter()
        .position(|member| matches!(member.role, Role::Flatten));
    let extras = flatten.map(|at| {
        let value = access.of(fields, at);
        let known = &fields.known;
        let unheld = fields.unheld.iter().filter(|unheld| !unheld.is_ignored);
        let unheld = unheld.map(|unheld| &unheld.wire.name);
        let ty = fields.members[at].field.ty;
        let span = span_of(ty);
        quote_spanned!(span=>
            let mut extras = _p::extra_writer::<#ty>(#value, &[#(#known),*], &[#(#unheld),*])?;
        )
    });
    let unheld = |place: usize| -> TokenStream {
        let here = fields.unheld.iter().filter(|unheld| unheld.before == place);
        let here = here.filter(|unheld| flatten.is_some() && !unheld.is_ignored);
        here.map(|UnheldField { wire, .. }| {
            let (kind, absent) = (kind(Span::call_site(), &wire.ty), absent(wire));
            let Wire {
                name, key, inline, ..
            } = wire;
            quote!(extras.field::<#kind>(w, #name, #key, #absent, #inline)?;)
        })
        .collect()
    };
    let params = wires(fields).enumerate().map(|(place, (at, ty, wire))| {
        let span = span_of(ty);
        let value = access.of(fields, at);
        let kind = kind(span, &wire.ty);
        let Wire {
            name, key, inline, ..
        } = wire;
        let absent = absent(wire);
        let value = held(input, fields.members[at].field, wire, value);
        // Without a schema, the code writes fields and unknown params together, sorted by key.
        let before = match fields.schema {
            None if flatten.is_some() => quote!(extras.before(w, #key)?;),
            _ => unheld(place),
        };
        let key = format!("|{key}:");
        quote_spanned!(span=> #before _p::write::<#kind, _>(w, #name, #key, #value, #absent, #inline)?;)
    });
    let rest = if flatten.is_some() {
        let unheld = unheld(fields.order.len());
        quote!(#unheld extras.rest(w))
    } else {
        quote!(_p::Ok(()))
    };
    quote!(#extras #(#params)* #rest)
}

/// Returns the code that writes the entries of a map, in the order of the wire.
pub(super) fn encode_entries(
    input: &Input<'_>,
    fields: &Fields<'_>,
    access: Access,
) -> Vec<(String, TokenStream)> {
    let entries = wires(fields).map(|(at, ty, wire)| {
        let span = span_of(ty);
        let value = access.of(fields, at);
        let kind = kind(span, &wire.ty);
        let Wire { name, key, .. } = wire;
        let absent = absent(wire);
        let value = held(input, fields.members[at].field, wire, value);
        let entry = quote_spanned!(span=> w.entry::<#kind, _>(map, #name, #key, #value, #absent)?;);
        (key.clone(), entry)
    });
    entries.collect()
}

/// Returns the words that say in an error what requires a field: `schema TA`. `None` without a schema.
fn by_schema(fields: &Fields<'_>) -> Option<String> {
    fields.schema.as_ref().map(|code| format!("schema {code}"))
}

/// Returns the declaration of the variables for the values that are read.
///
/// One statement declares all variables. If each variable had its own statement, it would open a scope inside the
/// scope of the previous variable, and the compiler would recurse through these scopes when it writes debug
/// information.
pub(super) fn slots(input: &Input<'_>, fields: &Fields<'_>) -> TokenStream {
    let slots = fields
        .members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| {
            let (ty, slot) = (member.field.ty, slot(at));
            let (span, ty, first) = match member.role {
                Role::Wire(ref wire) => {
                    let span = match compiler_checked(input, member.field, wire) {
                        Some(_) => checked_span(ty),
                        None => Span::call_site(),
                    };
                    let ty = read_as(input, member.field, wire);
                    let ty = quote_spanned!(span=> _p::Option<#ty>);
                    (span, ty, quote_spanned!(span=> _p::None))
                }
                Role::Flatten => {
                    let span = span_of(ty);
                    let ty = type_to_read(input, ty);
                    let first = quote_spanned!(span=> <#ty as _p::Default>::default());
                    (span, ty, first)
                }
                Role::Skip => return None,
            };
            Some((quote_spanned!(span=> mut #slot), ty, first))
        });
    let (mut names, mut types, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    for (name, ty, first) in slots {
        names.push(name);
        types.push(ty);
        firsts.push(first);
    }
    quote!(let (#(#names,)*): (#(#types,)*) = (#(#firsts,)*);)
}

/// Returns the pattern that matches every key of a field.
fn keys(wire: &Wire, span: Span) -> TokenStream {
    let keys = wire.keys();
    let keys = keys.map(|key| LitByteStr::new(key.as_bytes(), span));
    quote!(#(#keys)|*)
}

/// Returns the match arms that read a value: one for each field, which matches all keys of the field, and one for all
/// other keys.
pub(super) fn arms(input: &Input<'_>, fields: &Fields<'_>, owner: &str) -> TokenStream {
    let Reads { known, others } = reads(input, fields, owner);
    let known = known.into_iter().map(
        |Known {
             wire, span, read, ..
         }| {
            let keys = keys(wire, span);
            quote_spanned!(span=> #keys => #read,)
        },
    );
    quote!(#(#known)* _ => #others,)
}

/// The code that reads the params of a frame.
pub(super) struct Numbered {
    /// The list of keys, each with a number for a field.
    pub(super) keys: TokenStream,
    /// The code that reads the next params, as long as they are in the order of a writer.
    pub(super) first: TokenStream,
    /// The condition that the code of the schema and the end of the payload come next, and the text of that code.
    /// `None` without a schema.
    pub(super) last: Option<(TokenStream, String)>,
    /// A match arm for each number, one for the end, and one for all other keys.
    pub(super) arms: TokenStream,
}

/// Returns the code that reads the params: first those that are in the order of a writer, then the remaining params,
/// in any order and under any name.
pub(super) fn numbered_arms(
    input: &Input<'_>,
    fields: &Fields<'_>,
    owner: &str,
    schema_key: Option<&str>,
) -> Numbered {
    let Reads { mut known, others } = reads(input, fields, owner);
    known.sort_by_key(|known| known.place);
    let numbers = known.iter().enumerate();
    let keys = numbers.clone().flat_map(|(at, known)| {
        let keys = known.wire.keys();
        keys.map(move |key| quote!(_p::Key::new(#key, #at),))
    });
    let count = known.len();
    let schema = schema_key.map(|key| quote!(_p::Key::new(#key, #count),));
    let keys = quote!(#schema #(#keys)*);
    let first = known.iter().filter(|known| known.place.1);
    let first = first.map(
        |Known {
             wire, span, read, ..
         }| {
            let key = format!("|{}:", wire.key);
            quote_spanned!(*span=> if _p::expects(r, #key)? { #read })
        },
    );
    let first = quote!(#(#first)*);
    let last = schema_key.zip(fields.schema.as_ref()).map(|(key, code)| {
        let end = format!("|{key}:{code}}}");
        (quote!(_p::ends(r, #end)), code.clone())
    });
    let code = schema_key.map(|_| quote!(#count => _p::code(r, code)?,));
    let known = numbers.map(|(at, Known { span, read, .. })| quote_spanned!(*span=> #at => #read,));
    let arms = quote! {
        #(#known)*
        #code
        _p::END => break,
        _ => {
            let key = _p::unknown_key(r);
            #others
        }
    };
    Numbered {
        keys,
        first,
        last,
        arms,
    }
}

/// The code that reads the value of a key.
struct Known<'f> {
    wire: &'f Wire,
    span: Span,
    /// The place on the wire: the index of the next member, and whether the key belongs to that member itself.
    place: (usize, bool),
    read: TokenStream,
}

/// The code that reads the values of the known keys, and the code that reads those of all other keys.
struct Reads<'f> {
    known: Vec<Known<'f>>,
    others: TokenStream,
}

fn reads<'f>(input: &Input<'_>, fields: &'f Fields<'_>, owner: &str) -> Reads<'f> {
    let by_schema = by_schema(fields);
    let members = wires(fields).enumerate().map(|(place, (at, ty, wire))| {
        let span = span_of(ty);
        let (kind, slot) = (
            kind(span, &wire.ty),
            Ident::new(&slot(at).to_string(), span),
        );
        let name = &wire.name;
        let field = fields.members[at].field;
        let ty = read_as(input, field, wire);
        let by = by_schema.as_deref();
        let by = by.filter(|_| wire.is_required && wire.default.is_none());
        let read = match (With::of(field, wire), by, &wire.default) {
            (Some(with), by, _) => with.read(&slot, by),
            (None, Some(by), _) => {
                quote_spanned!(span=> _p::read_required::<#kind, #ty>(r, &mut #slot, #name, #by)?)
            }
            (None, None, Some(default)) => quote_spanned!(span=>
                _p::read_or_default::<#kind, #ty>(r, &mut #slot, #name, #default)?
            ),
            (None, None, None) => {
                quote_spanned!(span=> _p::read::<#kind, #ty>(r, &mut #slot, #name)?)
            }
        };
        Known {
            wire,
            span,
            place: (place, true),
            read,
        }
    });
    let flatten = fields
        .members
        .iter()
        .position(|member| matches!(member.role, Role::Flatten));
    let others = match flatten {
        Some(at) => {
            let (ty, known) = (fields.members[at].field.ty, &fields.known);
            let (span, ty) = (span_of(ty), type_to_read(input, ty));
            let slot = Ident::new(&slot(at).to_string(), span);
            quote_spanned!(span=> _p::extra::<#ty>(r, &mut #slot, key, &[#(#known),*])?)
        }
        None if fields.is_closed => {
            let names: Vec<_> = wires(fields).map(|(.., wire)| wire.name.as_str()).collect();
            let expected = format!("a field of {owner}: {}", names.join(", "));
            quote!(_p::unknown(r, &key, #expected)?)
        }
        None => quote!(_p::pass_over(r, key)?),
    };
    let unheld = fields.unheld.iter().filter_map(
        |UnheldField {
             before,
             wire,
             is_ignored,
         }| {
            let Wire { name, ty, .. } = wire;
            let read = match flatten {
                Some(at) if !is_ignored => {
                    let of = fields.members[at].field.ty;
                    let span = span_of(of);
                    let of = type_to_read(input, of);
                    let (kind, slot) = (kind(span, ty), Ident::new(&slot(at).to_string(), span));
                    quote_spanned!(span=> _p::extra_field::<#kind, #of>(r, &mut #slot, #name)?)
                }
                _ if fields.is_closed && !is_ignored => return None,
                _ => quote!(_p::pass_over(r, #name)?),
            };
            let (span, place) = (Span::call_site(), (*before, false));
            Some(Known {
                wire,
                span,
                place,
                read,
            })
        },
    );
    let known = members.chain(unheld).collect();
    Reads { known, others }
}

/// The code that makes the item from the values in the slots.
pub(super) struct Made {
    /// The code that moves each value from its slot into a variable with the name of the slot. A missing field gets
    /// its default, or is an error.
    pub(super) taken: TokenStream,
    /// The initializers for the fields of the item. They use these variables.
    pub(super) fields: TokenStream,
}

/// Returns the code that makes the value that was read.
///
/// No initializer of a field may fail. Otherwise the compiler would need code to drop a partly built value after each
/// field, and would be slower.
pub(super) fn construct(input: &Input<'_>, fields: &Fields<'_>, owner: &str) -> Made {
    let by_schema = by_schema(fields);
    let taken = fields
        .members
        .iter()
        .enumerate()
        .filter_map(|(at, member)| {
            let ty = member.field.ty;
            let span = span_of(ty);
            let slot = Ident::new(&slot(at).to_string(), span);
            let value = match &member.role {
                Role::Flatten => return None,
                Role::Skip => quote_spanned!(span=> <#ty as _p::Default>::default()),
                Role::Wire(wire) => {
                    let by = by_schema.as_deref();
                    taken(input, member.field, wire, &slot, by, owner)
                }
            };
            Some(quote!(let #slot = #value;))
        });
    let taken = quote!(#(#taken)*);
    let values = fields.members.iter().enumerate().map(|(at, member)| {
        let (ident, ty) = (member.field.ident, member.field.ty);
        let span = span_of(ty);
        let slot = Ident::new(&slot(at).to_string(), span);
        let compiler_checked = match &member.role {
            Role::Wire(wire) => compiler_checked(input, member.field, wire),
            Role::Flatten | Role::Skip => None,
        };
        let keeps = matches!(member.role, Role::Skip) || member.field.attrs.with.is_some();
        match compiler_checked {
            Some(compiler_checked) => {
                quote_spanned!(checked_span(ty)=> #ident: #compiler_checked::back(#slot),)
            }
            None if is_owned(ty) && !keeps => {
                quote_spanned!(span=> #ident: _accp::IntoOwned::into_owned(#slot),)
            }
            None => quote!(#ident: #slot,),
        }
    });
    let fields = quote!(#(#values)*);
    Made { taken, fields }
}

/// Returns the code that takes the value of a field out of its slot.
fn taken(
    input: &Input<'_>,
    field: &Field<'_>,
    wire: &Wire,
    slot: &Ident,
    by_schema: Option<&str>,
    owner: &str,
) -> TokenStream {
    if let Some(with) = With::of(field, wire) {
        return with.construct(slot, by_schema.unwrap_or(owner));
    }
    let span = span_of(field.ty);
    let (kind, name) = (kind(span, &wire.ty), &wire.name);
    let ty = read_as(input, field, wire);
    match (&wire.default, by_schema) {
        (Some(default), _) => {
            quote_spanned!(span=> _p::or_default::<#kind, #ty>(r, #slot, #name, #default)?)
        }
        (None, Some(by)) if wire.is_required => {
            quote_spanned!(span=> _p::demand::<#ty>(r, #slot, #name, #by)?)
        }
        _ => quote_spanned!(span=> _p::take::<#kind, #ty>(r, #slot, #name, #owner)?),
    }
}

/// Returns the type as which a value is read. If the compiler has to check the type, this is `_`: the compiler infers
/// the type from the field.
fn read_as(input: &Input<'_>, field: &Field<'_>, wire: &Wire) -> TokenStream {
    match compiler_checked(input, field, wire) {
        Some(_) => quote_spanned!(checked_span(field.ty)=> _),
        None if field.attrs.with.is_some() => field.ty.to_token_stream(),
        None => type_to_read(input, field.ty),
    }
}

/// Returns the code for the value that is written. If the field has a module, the module converts the value. If only
/// the compiler can check the type, the code makes the compiler check it.
fn held(input: &Input<'_>, field: &Field<'_>, wire: &Wire, value: TokenStream) -> TokenStream {
    if let Some(with) = With::of(field, wire) {
        return with.written(&value);
    }
    match compiler_checked(input, field, wire) {
        Some(compiler_checked) => {
            quote_spanned!(checked_span(field.ty)=> #compiler_checked::of(#value))
        }
        None => value,
    }
}

/// Returns the members that travel, in the order of the wire.
pub(super) fn wires<'f>(
    fields: &'f Fields<'_>,
) -> impl Iterator<Item = (usize, &'f RustType, &'f Wire)> {
    fields
        .order
        .iter()
        .filter_map(|&at| match fields.members.get(at) {
            Some(Member {
                field,
                role: Role::Wire(wire),
            }) => Some((at, field.ty, wire)),
            _ => None,
        })
}
