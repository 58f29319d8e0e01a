//! Parses the items inside `#[accp(..)]`.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitStr, Path, Token, WherePredicate};

use super::bound::{Bound, Predicates};
use super::case::Case;
use crate::ctxt::Ctxt;

/// The items of one attribute, and the errors about its commas and names.
pub(super) struct Items {
    pub(super) items: Vec<Item>,
    pub(super) faults: Vec<syn::Error>,
}

/// `name`, `name = value` or `name(value)`
pub(super) struct Item {
    pub(super) name: Ident,
    has_equals: bool,
    value: TokenStream,
}

impl Parse for Items {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let (mut items, mut faults) = (Vec::new(), Vec::new());
        while !input.is_empty() {
            if let Some(comma) = input.parse::<Option<Token![,]>>()? {
                let message = "a comma too many: one stands between two attributes";
                faults.push(syn::Error::new_spanned(comma, message));
                continue;
            }
            let is_name = input.peek(syn::Ident::peek_any) && !input.peek2(Token![::]);
            let item = Item::parse(input, is_name);
            match item {
                Ok(item) => items.push(item),
                Err(fault) => faults.push(fault),
            }
            if !input.is_empty() && input.parse::<Option<Token![,]>>()?.is_none() {
                let next: TokenTree = input.fork().parse()?;
                faults.push(syn::Error::new(
                    next.span(),
                    format!("expected `,` before `{next}`: a comma stands between two attributes"),
                ));
                if !input.peek(syn::Ident::peek_any) {
                    rest(input)?;
                    input.parse::<Option<Token![,]>>()?;
                }
            }
        }
        Ok(Self { items, faults })
    }
}

impl Item {
    /// Reads up to a comma, or up to the place where a comma is missing: between two parts that are each an
    /// identifier, a text or a group.
    fn parse(input: ParseStream<'_>, is_name: bool) -> syn::Result<Self> {
        if !is_name {
            let (mut odd, mut last) = (TokenStream::new(), None);
            while !input.is_empty() && !input.peek(Token![,]) && !input.peek(Token![=]) {
                let tree = input.parse::<TokenTree>()?;
                if let TokenTree::Ident(ident) = &tree {
                    last = Some(ident.clone());
                }
                odd.extend([tree]);
            }
            input.parse::<Option<Token![=]>>()?;
            rest(input)?;
            let shown = shown(&odd);
            let message = match last {
                Some(last) => format!(
                    "expected the name of an attribute, found `{shown}`: write `{last}` alone"
                ),
                None => format!(
                    "expected the name of an attribute, found `{shown}`: as in `name = \"..\"`"
                ),
            };
            return Err(syn::Error::new_spanned(odd, message));
        }
        let name = input.call(Ident::parse_any)?;
        let has_equals = input.parse::<Option<Token![=]>>()?.is_some();
        let is_call = input.peek(syn::token::Paren) || !input.peek(syn::Ident::peek_any);
        let value = if has_equals || is_call {
            rest(input)?
        } else {
            TokenStream::new()
        };
        Ok(Self {
            name,
            has_equals,
            value,
        })
    }

    /// Puts the text of the item into its slot. Returns false if the slot already has a text.
    pub(super) fn text(&self, cx: &Ctxt, slot: &mut Option<LitStr>) -> bool {
        let text = syn::parse2::<LitStr>(self.value.clone());
        let plain = self.plain();
        let example = format!("\"{}\"", plain.as_deref().unwrap_or(".."));
        let text = text.ok().filter(|_| self.has_equals);
        self.put(cx, slot, text, "a string", &example)
    }

    pub(super) fn path(&self, cx: &Ctxt, slot: &mut Option<Path>) -> bool {
        let path = match syn::parse2::<LitStr>(self.value.clone()) {
            Ok(text) => text.parse_with(Path::parse_mod_style),
            Err(_) => syn::parse::Parser::parse2(Path::parse_mod_style, self.value.clone()),
        };
        let path = path.ok().filter(|_| self.has_equals);
        self.put(cx, slot, path, "a path", "my::path")
    }

    pub(super) fn flag(&self, cx: &Ctxt, slot: &mut Option<Ident>) -> bool {
        if self.has_equals || !self.value.is_empty() {
            let message = format!("`{}` stands alone, without a value", self.name);
            cx.error(self.fault(), message);
        }
        fill(slot, self.name.clone())
    }

    /// Puts the case of names into its slot. Returns false if the slot already has a case.
    pub(super) fn case(&self, cx: &Ctxt, slot: &mut Option<Case>) -> bool {
        let mut text = None;
        self.text(cx, &mut text);
        let Some(text) = text else { return true };
        match Case::named(&text.value()) {
            Ok(case) => fill(slot, case),
            Err(hint) => {
                cx.error(&text, format!("no case `{}`{hint}", text.value()));
                true
            }
        }
    }

    /// Puts the bounds of `bound = ".."` or `bound(encode = "..", decode = "..")` in their slots.
    pub(super) fn bound(&self, cx: &Ctxt, slot: &mut Bound) -> bool {
        if self.has_equals {
            let mut text = None;
            self.text(cx, &mut text);
            let Some(predicates) = text.and_then(|text| predicates(cx, &text)) else {
                return true;
            };
            return slot.put(&["encode", "decode"], &predicates);
        }
        let parts = syn::parse2::<proc_macro2::Group>(self.value.clone());
        let parts = parts.and_then(|group| syn::parse2::<Items>(group.stream()));
        let parts = match parts {
            Ok(parts) if !parts.items.is_empty() || !parts.faults.is_empty() => parts,
            _ => {
                let message = "expected bounds: `bound = \"T: Trait\"`, or \
                               `bound(encode = \"..\", decode = \"..\")`";
                cx.error(self.fault(), message);
                return true;
            }
        };
        parts.faults.into_iter().for_each(|fault| cx.push(fault));
        let mut is_free = true;
        for part in &parts.items {
            let name = part.name.to_string();
            if name != "encode" && name != "decode" {
                let message = format!("expected `encode` or `decode`, found `{name}`");
                cx.error(&part.name, message);
                continue;
            }
            let mut text = None;
            part.text(cx, &mut text);
            if let Some(predicates) = text.and_then(|text| predicates(cx, &text)) {
                is_free &= slot.put(&[name.as_str()], &predicates);
            }
        }
        is_free
    }

    fn put<T>(
        &self,
        cx: &Ctxt,
        slot: &mut Option<T>,
        value: Option<T>,
        what: &str,
        example: &str,
    ) -> bool {
        let name = &self.name;
        if let Some(value) = value {
            return fill(slot, value);
        }
        let found = if self.value.is_empty() {
            String::new()
        } else {
            format!(", found `{}`", shown(&self.value))
        };
        let message = format!("expected {what}{found}: write `{name} = {example}`");
        cx.error(self.fault(), message);
        true
    }

    /// Returns the text that the user probably meant by a value that is not a string, such as `b"req"`, `'c'` or
    /// `OP`.
    fn plain(&self) -> Option<String> {
        let mut trees = self.value.clone().into_iter();
        let (Some(tree), None) = (trees.next(), trees.next()) else {
            return None;
        };
        let text = match tree {
            TokenTree::Literal(literal) => literal.to_string(),
            _ => return None,
        };
        let quoted = text.trim_start_matches(['b', 'c', 'r']);
        let inner = quoted.trim_matches(|c| c == '"' || c == '\'');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!inner.is_empty() && inner.chars().all(is_plain)).then(|| inner.to_owned())
    }

    /// Returns the tokens for an error about the item: its value, or its name if it has no value.
    fn fault(&self) -> TokenStream {
        let name = &self.name;
        if self.value.is_empty() {
            quote::quote!(#name)
        } else {
            self.value.clone()
        }
    }
}

/// Reads the tokens of a value.
fn rest(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut value = TokenStream::new();
    let mut is_whole = false;
    while !input.is_empty() && !input.peek(Token![,]) {
        let tree = input.fork().parse::<TokenTree>()?;
        let is_operand = !matches!(tree, TokenTree::Punct(_));
        // A group belongs to the token before it: `f(x)` and `m!{}` are each one value. A later check refuses such
        // values.
        if is_whole && is_operand && !matches!(tree, TokenTree::Group(_)) {
            break;
        }
        is_whole = is_operand;
        value.extend([input.parse::<TokenTree>()?]);
    }
    Ok(value)
}

/// Returns tokens in the spelling of a user, shortened.
fn shown(tokens: &TokenStream) -> String {
    const LONGEST: usize = 40;
    let text = tokens.to_string().replace(" :: ", "::");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &text[..end]),
        None => text,
    }
}

/// Parses the predicates in the text of a where clause. `None` after a mistake, which is reported.
fn predicates(cx: &Ctxt, text: &LitStr) -> Option<Predicates> {
    let parse = Punctuated::<WherePredicate, Token![,]>::parse_terminated;
    match text.parse_with(parse) {
        Ok(list) => Some(list.iter().map(ToTokens::to_token_stream).collect()),
        Err(error) => {
            let message = format!(
                "expected the bounds of a where clause, as in `\"T: Trait, U: Other\"`: {error}"
            );
            cx.error(text, message);
            None
        }
    }
}

/// Puts a value into an empty slot. Returns false if the slot already has a value, which stays.
fn fill<T>(slot: &mut Option<T>, value: T) -> bool {
    let is_free = slot.is_none();
    slot.get_or_insert(value);
    is_free
}
