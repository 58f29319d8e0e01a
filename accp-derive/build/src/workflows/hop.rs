//! Makes the struct for a hop, with the function `new` that makes the packet from the parameters of the hop.

use accp_aacp::{Hop, Kind, Parameter, Rewrite};
use accp_registry::AACP;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};

use super::{WorkflowOptions, fault, sentence, unique};
use crate::doc;
use crate::error::NameFault;
use crate::names::{pascal, sanitize, snake};

/// A part of the text of a field.
enum Part<'h> {
    Text(String),
    /// A parameter without a default, with the rewriting that the template states at this place.
    Value(&'h Parameter, Option<Rewrite>),
}

/// Returns the struct of a hop, and its constructor.
///
/// # Errors
/// A name that gives no Rust name, or the same Rust name as another name.
pub(super) fn hop(
    at: &str,
    hop: &Hop,
    options: &WorkflowOptions,
    types: &mut Vec<Ident>,
) -> Result<TokenStream, NameFault> {
    let name = unique(types, &pascal(&hop.name), 'N');
    let name = name.ok_or_else(|| fault(&format!("{at}/name"), &hop.name))?;
    let text = Text(options.owned);
    let ty = text.ty();
    let arguments = Arguments::of(at, hop)?;
    let mut names = Vec::new();
    let mut fields = Vec::new();
    let mut values = Vec::new();
    let mut add = |key: &str, ty: TokenStream, value: TokenStream| {
        let ident = unique(&mut names, &snake(key), 'n');
        let ident = ident.ok_or_else(|| fault(&format!("{at}/fields/{key}"), key))?;
        let meaning = options.vocabulary.key(key).map(|key| &key.meaning[..]);
        let meaning = meaning.filter(|meaning| !meaning.is_empty());
        let doc = doc::attributes(&[sentence(&capitalised(meaning.unwrap_or(key)))]);
        let rename = (ident != key).then(|| quote!(#[aacp(rename = #key)]));
        fields.push(quote!(#doc #rename pub #ident: #ty,));
        let is_named_so = ident == value.to_string();
        values.push(if is_named_so {
            quote!(#ident,)
        } else {
            quote!(#ident: #value,)
        });
        Ok(())
    };
    add("return", ty.clone(), text.constant(&hop.receiver))?;
    let priority = text.constant(&hop.priority);
    add("p", quote!(Option<#ty>), quote!(Some(#priority)))?;
    for (key, template) in hop.fields() {
        let parts = parts(hop, &template);
        let kind = options.vocabulary.key(key).map(|key| key.kind);
        if kind == Some(Kind::List) {
            add(key, quote!(Vec<#ty>), arguments.list(&text, &parts))?;
        } else if may_be_empty(hop, &template) {
            // The hop omits the field if the caller gives empty values.
            let value = match &parts[..] {
                [] => quote!(None),
                parts => {
                    let value = arguments.text(&text, parts);
                    quote!(Some(#value))
                }
            };
            add(key, quote!(Option<#ty>), value)?;
        } else {
            add(key, ty.clone(), arguments.text(&text, &parts))?;
        }
    }
    let mut extra = String::from("extra");
    while names.iter().any(|name| *name == extra) {
        extra.push('_');
    }
    let extra = Ident::new(&extra, Span::call_site());

    let (task, dom) = (&hop.task, &hop.dom);
    let place = (options.runtime != AACP.rust.runtime).then(|| {
        let path: Option<syn::Path> = syn::parse_str(&options.runtime).ok();
        path.map(|path| quote!(#[aacp(crate = #path)]))
    });
    let place = place.flatten();
    let what = format!("The packet `{task}|{dom}` of the hop `{}`.", hop.name);
    let doc = doc::attributes(&[sentence(&hop.meaning), what]);
    let lifetime = (!options.owned).then(|| quote!(<'a>));
    let (parameters, ready) = (arguments.parameters(&text), arguments.ready(&text));
    // Without parameters, the function `new` has no use for the lifetime, so the `impl` does not name it.
    let is_plain = parameters.is_empty();
    let (of_impl, of_type) = match &lifetime {
        Some(_) if is_plain => (None, Some(quote!(<'_>))),
        lifetime => (lifetime.clone(), lifetime.clone()),
    };
    let default = is_plain.then(|| {
        quote! {
            impl Default for #name #of_type {
                fn default() -> Self {
                    Self::new()
                }
            }
        }
    });
    Ok(quote! {
        #doc
        #[derive(Debug, Clone, PartialEq, AacpPacket)]
        #[aacp(task = #task, dom = #dom)]
        #place
        pub struct #name #lifetime {
            #(#fields)*
            /// The fields that the hop does not have, in their order.
            #[aacp(extra)]
            pub #extra: Vec<(#ty, #ty)>,
        }

        impl #of_impl #name #of_type {
            /// Returns the packet of these parameters, with the defaults of the workflow.
            #[must_use]
            pub fn new(#(#parameters),*) -> Self {
                #(#ready)*
                Self { #(#values)* #extra: Vec::new() }
            }
        }

        #default
    })
}

/// Returns whether a template consists only of parameters that have a default. Then the text of the field may be
/// empty.
fn may_be_empty(hop: &Hop, template: &str) -> bool {
    template.split_terminator('}').all(|place| {
        let name = place
            .strip_prefix('{')
            .and_then(|place| place.split(':').next());
        let mut parameters = hop.parameters.iter();
        let parameter = parameters.find(|other| Some(&other.name[..]) == name);
        parameter.is_some_and(|parameter| parameter.default.is_some())
    })
}

/// Splits a template into texts and parameters. A parameter with a default becomes text.
fn parts<'h>(hop: &'h Hop, template: &str) -> Vec<Part<'h>> {
    let mut parts = Vec::new();
    let push = |parts: &mut Vec<Part<'h>>, text: &str| match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => before.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    };
    let mut rest = template;
    while let Some((before, place, after)) = rest.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}')
            .map(|(place, after)| (before, place, after))
    }) {
        push(&mut parts, before);
        rest = after;
        let (name, rewrite) = place
            .split_once(':')
            .map_or((place, None), |(name, rewrite)| {
                (name, Rewrite::named(rewrite))
            });
        let Some(parameter) = hop.parameters.iter().find(|other| other.name == name) else {
            continue;
        };
        match &parameter.default {
            Some(default) => {
                let all = parameter.rewriting().iter().chain(&rewrite);
                let value = all.fold(default.clone(), |value, rewrite| rewrite.apply(&value));
                push(&mut parts, &value);
            }
            None => parts.push(Part::Value(parameter, rewrite)),
        }
    }
    push(&mut parts, rest);
    parts
}

/// The type of texts: `String` if the flag is true, otherwise `Cow<str>`.
struct Text(bool);

impl Text {
    fn ty(&self) -> TokenStream {
        if self.0 {
            quote!(String)
        } else {
            quote!(Cow<'a, str>)
        }
    }

    fn constant(&self, text: &str) -> TokenStream {
        match (self.0, text) {
            (true, "") => quote!(String::new()),
            (true, text) => quote!(String::from(#text)),
            (false, text) => quote!(Cow::Borrowed(#text)),
        }
    }

    /// Returns the code that turns an expression of type `String` into the type of texts.
    fn made(&self, text: &TokenStream) -> TokenStream {
        if self.0 {
            text.clone()
        } else {
            quote!(Cow::Owned(#text))
        }
    }
}

/// The parameters without a default: the arguments of the constructor.
struct Arguments<'h> {
    list: Vec<(&'h Parameter, Ident)>,
    /// The name of the parameter at each place where a field uses one. A name may repeat.
    uses: Vec<&'h str>,
}

impl<'h> Arguments<'h> {
    fn of(at: &str, hop: &'h Hop) -> Result<Self, NameFault> {
        let mut taken = Vec::new();
        let mut list = Vec::new();
        for (index, parameter) in hop.parameters.iter().enumerate() {
            let name = &parameter.name;
            let ident = unique(&mut taken, &snake(name), 'n');
            let ident =
                ident.ok_or_else(|| fault(&format!("{at}/parameters/{index}/name"), name))?;
            if parameter.default.is_none() {
                list.push((parameter, ident));
            }
        }
        let templates: Vec<_> = hop.fields().collect();
        let parts = templates
            .iter()
            .flat_map(|(_, template)| parts(hop, template));
        let uses = parts.filter_map(|part| match part {
            Part::Value(parameter, _) => Some(&parameter.name[..]),
            Part::Text(_) => None,
        });
        let uses = uses.collect();
        Ok(Self { list, uses })
    }

    fn parameters(&self, text: &Text) -> Vec<TokenStream> {
        let ty = text.ty();
        let each = self.list.iter().map(|(parameter, ident)| {
            let items = quote!(IntoIterator<Item: Into<#ty>>);
            let is_list = parameter.kind == Kind::List;
            let bound = if is_list { items } else { quote!(Into<#ty>) };
            quote!(#ident: impl #bound)
        });
        each.collect()
    }

    /// Returns the code of the statements that convert and rewrite the arguments.
    fn ready(&self, text: &Text) -> Vec<TokenStream> {
        let ty = text.ty();
        let each = self.list.iter().map(|(parameter, ident)| {
            let rewritten = |value: TokenStream| {
                let is_any = !parameter.rewriting().is_empty();
                let all = parameter.rewriting().iter();
                let all = all.fold(value, |value, rewrite| rewriting(*rewrite, &value));
                is_any.then(|| text.made(&all))
            };
            let item = quote!(item);
            match (parameter.kind, rewritten(quote!(#ident)), rewritten(item)) {
                (Kind::List, _, Some(rewritten)) => quote! {
                    let #ident = #ident.into_iter().map(|item| {
                        let item: #ty = item.into();
                        #rewritten
                    });
                    let #ident: Vec<#ty> = #ident.collect();
                },
                (Kind::List, _, None) => quote! {
                    let #ident: Vec<#ty> = #ident.into_iter().map(Into::into).collect();
                },
                (_, Some(rewritten), _) => quote! {
                    let #ident: #ty = #ident.into();
                    let #ident: #ty = #rewritten;
                },
                (_, None, _) => quote!(let #ident: #ty = #ident.into();),
            }
        });
        each.collect()
    }

    /// Returns the identifier of a parameter without a default.
    fn ident(&self, parameter: &Parameter) -> Ident {
        let found = self
            .list
            .iter()
            .find(|(other, _)| other.name == parameter.name);
        let made = || sanitize(&snake(&parameter.name), 'n');
        let found = found.map(|(_, ident)| ident.clone()).or_else(made);
        found.unwrap_or_else(|| Ident::new("parameter", Span::call_site()))
    }

    /// Returns the code for the value of a field that consists only of this parameter. The code clones the argument
    /// if another field uses it, too.
    fn whole(&self, parameter: &Parameter) -> TokenStream {
        let ident = self.ident(parameter);
        let uses = self.uses.iter().filter(|name| **name == parameter.name);
        if uses.count() == 1 {
            quote!(#ident)
        } else {
            quote!(#ident.clone())
        }
    }

    /// Returns the code for the value of a field that holds one text.
    fn text(&self, text: &Text, parts: &[Part<'_>]) -> TokenStream {
        match parts {
            [] => text.constant(""),
            [Part::Text(constant)] => text.constant(constant),
            [Part::Value(parameter, None)] if parameter.kind != Kind::List => self.whole(parameter),
            parts => text.made(&self.joined(parts)),
        }
    }

    /// Returns the code that joins the parts into one `String`.
    fn joined(&self, parts: &[Part<'_>]) -> TokenStream {
        let mut format = String::new();
        let mut values = Vec::new();
        for part in parts {
            match part {
                Part::Text(text) => {
                    format.push_str(&text.replace('{', "{{").replace('}', "}}"));
                }
                Part::Value(parameter, rewrite) => {
                    let ident = self.ident(parameter);
                    let is_list = parameter.kind == Kind::List;
                    let value = if is_list {
                        quote!(#ident.join(","))
                    } else {
                        quote!(#ident)
                    };
                    match rewrite {
                        None if !is_list => {
                            let ident = ident.to_string();
                            format.extend(["{", &ident, "}"]);
                        }
                        None => {
                            format.push_str("{}");
                            values.push(value);
                        }
                        Some(rewrite) => {
                            format.push_str("{}");
                            values.push(rewriting(*rewrite, &value));
                        }
                    }
                }
            }
        }
        quote!(format!(#format #(, #values)*))
    }

    /// Returns the code for the value of a field that holds a list.
    fn list(&self, text: &Text, parts: &[Part<'_>]) -> TokenStream {
        match parts {
            [] => quote!(Vec::new()),
            [Part::Text(constant)] => {
                let items = constant.split(',').map(|item| text.constant(item));
                quote!(vec![#(#items),*])
            }
            [Part::Value(parameter, None)] if parameter.kind == Kind::List => self.whole(parameter),
            parts => {
                let whole = match parts {
                    [Part::Value(parameter, None)] => self.ident(parameter).into_token_stream(),
                    parts => self.joined(parts),
                };
                let owned = if text.0 {
                    quote!(str::to_owned)
                } else {
                    quote!(|item| Cow::Owned(item.to_owned()))
                };
                quote!(#whole.split(',').map(#owned).collect())
            }
        }
    }
}

/// Returns the Rust expression for a rewriting. Its type is `String`.
fn rewriting(rewrite: Rewrite, value: &TokenStream) -> TokenStream {
    match rewrite {
        Rewrite::Upper => quote!(#value.to_uppercase()),
        Rewrite::Lower => quote!(#value.to_lowercase()),
        Rewrite::SpaceToHyphen => quote!(#value.replace(' ', "-")),
        Rewrite::SpaceToUnderscore => quote!(#value.replace(' ', "_")),
        Rewrite::HyphenToUnderscore => quote!(#value.replace('-', "_")),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}
