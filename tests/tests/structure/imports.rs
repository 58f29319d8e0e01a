//! The paths that a module writes in `use` items, in its code and in the input of macros.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Path, UseTree, Visibility};

/// A path as it is written, without generic arguments: `crate`, `judge`, `Judge`.
pub(crate) type Names = Vec<String>;

/// The paths with which a module refers to items elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Imports {
    /// Whole paths of several names, as they are written.
    pub(crate) paths: BTreeSet<Names>,
    /// The paths of glob imports, without `*`.
    pub(crate) globs: BTreeSet<Names>,
    /// Every word in the module. These words tell which names of a glob the module uses.
    pub(crate) words: BTreeSet<String>,
}

/// Reads the items of a module, without child modules and without tests.
pub(crate) fn of(items: &[Item]) -> Imports {
    let mut imports = Imports::default();
    for item in items {
        imports.visit_item(item);
    }
    imports
}

impl<'a> Visit<'a> for Imports {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    /// A child module is read on its own.
    fn visit_item_mod(&mut self, _: &'a ItemMod) {}

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if item.leading_colon.is_some() {
            return;
        }
        for (name, path) in uses(&item.tree) {
            if name == "*" {
                self.globs.insert(path);
            } else {
                self.paths.insert(path);
            }
        }
    }

    fn visit_path(&mut self, path: &'a Path) {
        let names: Names = path
            .segments
            .iter()
            .map(|part| part.ident.unraw().to_string())
            .collect();
        self.words.extend(names.iter().cloned());
        if names.len() > 1 && path.leading_colon.is_none() {
            self.paths.insert(names);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'a Macro) {
        visit::visit_macro(self, item);
        self.tokens(item.tokens.clone());
    }

    /// `pub(in crate::a)` imports nothing from `crate::a`.
    fn visit_visibility(&mut self, _: &'a Visibility) {}

    /// The names in an attribute belong to a derive.
    fn visit_attribute(&mut self, _: &'a Attribute) {}
}

impl Imports {
    /// Finds paths in tokens: names with `::` between them.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut names = Names::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.end(&mut names);
                    }
                    self.words.insert(word.unraw().to_string());
                    names.push(word.unraw().to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' && !names.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.end(&mut names);
            colons = 0;
        }
        self.end(&mut names);
    }

    fn end(&mut self, names: &mut Names) {
        if names.len() > 1 {
            self.paths.insert(std::mem::take(names));
        }
        names.clear();
    }
}

/// Returns whether an item is compiled only in builds of tests.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let cfg = attribute.path().is_ident("cfg");
        cfg && attribute
            .parse_args::<syn::Path>()
            .is_ok_and(|path| path.is_ident("test"))
    })
}

/// Returns the attributes of an item of any kind.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns the names that a `use` brings in, each with its path. A glob has the name `*`.
pub(crate) fn uses(tree: &UseTree) -> Vec<(String, Names)> {
    let mut all = Vec::new();
    walk(tree, &mut Vec::new(), &mut all);
    all
}

fn walk(tree: &UseTree, before: &mut Names, all: &mut Vec<(String, Names)>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.unraw().to_string());
            walk(&path.tree, before, all);
            before.pop();
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                walk(tree, before, all);
            }
        }
        UseTree::Glob(_) => all.push(("*".into(), before.clone())),
        UseTree::Name(name) => leaf(&name.ident, &name.ident, before, all),
        UseTree::Rename(rename) => leaf(&rename.ident, &rename.rename, before, all),
    }
}

fn leaf(name: &syn::Ident, called: &syn::Ident, before: &Names, all: &mut Vec<(String, Names)>) {
    let mut path = before.clone();
    let mut called = called.unraw().to_string();
    if name == "self" {
        // `use a::b::{self}` means the same as `use a::b`.
        if called == "self" {
            called = path.last().cloned().unwrap_or(called);
        }
    } else {
        path.push(name.unraw().to_string());
    }
    all.push((called, path));
}
