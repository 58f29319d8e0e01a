//! Reads the sources of a crate: its items with their paths, and its tokens.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    ImplItemConst, ImplItemFn, ItemConst, ItemFn, ItemImpl, ItemMod, ItemStatic, TraitItemFn,
};

use super::tokens::{self, Token};

/// A file of a crate.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path from the top of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    pub(crate) tokens: Vec<Token>,
    pub(crate) items: Vec<Item>,
}

/// A function or a constant.
#[derive(Debug)]
pub(crate) struct Item {
    /// `judge::Judge::fold`, without the name of the crate.
    pub(crate) path: String,
    /// The range of the item's tokens in the file.
    pub(crate) tokens: Range<usize>,
}

/// Returns the folder of a crate.
pub(crate) fn folder_of(name: &str) -> PathBuf {
    let folder = match name.strip_prefix("accp-") {
        Some("store") => "crates/hub/store".into(),
        Some("runtime") | None => name.into(),
        Some(part) => format!("accp-runtime/{part}"),
    };
    folder.into()
}

impl Source {
    /// Reads a file. `module` is the path of the module that the file contains.
    ///
    /// # Errors
    /// If the text is not Rust.
    pub(crate) fn read(path: &Path, module: &[String], text: String) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let tokens = tokens::read(&text).map_err(|error| failed(&error))?;
        let mut items = Items {
            path: module.to_vec(),
            found: Vec::new(),
        };
        items.visit_file(&syn::parse_file(&text).map_err(|error| failed(&error))?);
        let place = |bytes: &Range<usize>| {
            let before = |end: usize| tokens.partition_point(|token| token.at.start < end);
            before(bytes.start)..before(bytes.end)
        };
        let items = items.found.iter();
        let items = items.map(|(path, bytes)| Item {
            path: path.clone(),
            tokens: place(bytes),
        });
        Ok(Self {
            path: path.into(),
            items: items.collect(),
            tokens,
            text,
        })
    }

    /// Reads the files below the `src` of a crate.
    ///
    /// # Errors
    /// Returns the name of the file, and the fault in it.
    pub(crate) fn of_crate(root: &Path, name: &str) -> Result<Vec<Self>, String> {
        let mut sources = Vec::new();
        let mut folders = vec![(folder_of(name).join("src"), Vec::new())];
        while let Some((folder, module)) = folders.pop() {
            let failed = |error| format!("{}: {error}", folder.display());
            for file in fs::read_dir(root.join(&folder)).map_err(failed)? {
                let file = file.map_err(failed)?;
                let path = folder.join(file.file_name());
                let stem = path.file_stem().unwrap_or_default().to_string_lossy();
                let mut inner: Vec<String> = module.clone();
                if !matches!(&*stem, "lib" | "main" | "mod") {
                    inner.push(stem.into_owned());
                }
                if file.file_type().map_err(failed)?.is_dir() {
                    folders.push((path, inner));
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = fs::read_to_string(file.path()).map_err(failed)?;
                    sources.push(Self::read(&path, &inner, text)?);
                }
            }
        }
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(sources)
    }

    /// Returns the innermost item around a token.
    pub(crate) fn item_at(&self, token: usize) -> Option<&Item> {
        let around = self
            .items
            .iter()
            .filter(|item| item.tokens.contains(&token));
        around.min_by_key(|item| item.tokens.len())
    }

    /// Returns the line of a token, counted from 1.
    pub(crate) fn line_of(&self, token: usize) -> usize {
        let at = self.tokens.get(token).map_or(0, |token| token.at.start);
        1 + self.text[..at].matches('\n').count()
    }

    /// Returns the text of a range of tokens.
    pub(crate) fn text_of(&self, tokens: &Range<usize>) -> &str {
        &self.text[self.bytes_of(tokens)]
    }

    /// Returns the byte range of tokens in the text.
    pub(crate) fn bytes_of(&self, tokens: &Range<usize>) -> Range<usize> {
        match &self.tokens[tokens.clone()] {
            [first, .., last] => first.at.start..last.at.end,
            [only] => only.at.clone(),
            [] => 0..0,
        }
    }
}

/// Finds functions and constants, with their paths.
struct Items {
    path: Vec<String>,
    found: Vec<(String, Range<usize>)>,
}

impl Items {
    fn add(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let path = [&self.path[..], &[name.to_string()]].concat().join("::");
        self.found.push((path, span.byte_range()));
    }
}

impl<'a> Visit<'a> for Items {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        self.path.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.path.pop();
    }

    fn visit_item_impl(&mut self, item: &'a ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        self.path.push(name.unwrap_or_default());
        visit::visit_item_impl(self, item);
        self.path.pop();
    }

    fn visit_item_fn(&mut self, item: &'a ItemFn) {
        self.add(&item.sig.ident, item.span());
    }

    fn visit_impl_item_fn(&mut self, item: &'a ImplItemFn) {
        self.add(&item.sig.ident, item.span());
    }

    fn visit_trait_item_fn(&mut self, item: &'a TraitItemFn) {
        self.add(&item.sig.ident, item.span());
    }

    fn visit_item_const(&mut self, item: &'a ItemConst) {
        self.add(&item.ident, item.span());
    }

    fn visit_impl_item_const(&mut self, item: &'a ImplItemConst) {
        self.add(&item.ident, item.span());
    }

    fn visit_item_static(&mut self, item: &'a ItemStatic) {
        self.add(&item.ident, item.span());
    }
}
