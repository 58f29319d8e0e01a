//! The modules of one crate, found from its first file through `mod` items.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::ext::IdentExt;
use syn::{Attribute, Item};

use super::imports::{self, Imports, Names, attributes, is_for_tests, uses};
use super::workspace::Sources;

/// All modules of a crate. The first module is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) modules: Vec<Module>,
}

/// A module, in a file of its own or between braces.
#[derive(Debug)]
pub(crate) struct Module {
    /// The path from the root of the crate, without the crate's name.
    pub(crate) path: Names,
    pub(crate) parent: Option<usize>,
    /// The file of the module, as an index of [`Tree::files`].
    pub(crate) file: usize,
    pub(crate) names: BTreeMap<String, Vec<Meaning>>,
    pub(crate) imports: Imports,
}

/// The meaning of a name in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The module itself defines the name.
    Item,
    Module(usize),
    /// A `use` imports the name from this path.
    Use(Names),
}

impl Meaning {
    pub(crate) fn module(&self) -> Option<usize> {
        match self {
            Self::Module(module) => Some(*module),
            Self::Item | Self::Use(_) => None,
        }
    }

    pub(crate) fn used(&self) -> Option<Names> {
        match self {
            Self::Use(path) => Some(path.clone()),
            Self::Item | Self::Module(_) => None,
        }
    }
}

impl Tree {
    /// Reads a crate from its first file on. Code that only tests compile is left out.
    ///
    /// # Errors
    /// Returns the name of the file that is missing or is not Rust.
    pub(crate) fn read(sources: &Sources, root: &Path) -> Result<Self, String> {
        let mut reading = Reading {
            sources,
            tree: Self {
                files: Vec::new(),
                modules: Vec::new(),
            },
        };
        let folder = root.parent().unwrap_or(Path::new(""));
        reading.file(root, folder, &[], None)?;
        Ok(reading.tree)
    }

    /// Returns the module whose content is the whole file, and not a module between braces in this file.
    pub(crate) fn module_of(&self, file: usize) -> Option<&Module> {
        self.modules.iter().find(|module| module.file == file)
    }
}

struct Reading<'a> {
    sources: &'a Sources,
    tree: Tree,
}

impl Reading<'_> {
    /// Reads a file whose child modules are in `folder`. Returns the index of its module.
    fn file(
        &mut self,
        file: &Path,
        folder: &Path,
        path: &[String],
        parent: Option<usize>,
    ) -> Result<usize, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = self
            .sources
            .get(file)
            .ok_or_else(|| failed(&"no such file"))?;
        let parsed = syn::parse_file(text).map_err(|error| failed(&error))?;
        self.tree.files.push(file.to_owned());
        let index = self.tree.files.len() - 1;
        let beside = file.parent().unwrap_or(Path::new(""));
        self.module(&parsed.items, index, (beside, folder), path, parent)
    }

    fn module(
        &mut self,
        items: &[Item],
        file: usize,
        (beside, folder): (&Path, &Path),
        path: &[String],
        parent: Option<usize>,
    ) -> Result<usize, String> {
        let index = self.tree.modules.len();
        self.tree.modules.push(Module {
            path: path.to_owned(),
            parent,
            file,
            names: BTreeMap::new(),
            imports: Imports::default(),
        });
        let mut names = BTreeMap::<String, Vec<Meaning>>::new();
        let mut add = |name: String, meaning| names.entry(name).or_default().push(meaning);
        for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
            if let Item::Use(item) = item {
                for (name, from) in uses(&item.tree) {
                    add(name, Meaning::Use(from));
                }
            } else if let Item::Mod(item) = item {
                let name = item.ident.unraw().to_string();
                let child = [path, std::slice::from_ref(&name)].concat();
                let inner = folder.join(&name);
                let child = match (&item.content, attribute_path(&item.attrs)) {
                    (Some((_, items)), _) => {
                        self.module(items, file, (&inner, &inner), &child, Some(index))?
                    }
                    (None, Some(at)) => {
                        let at = plain(&beside.join(at));
                        let inner = at.parent().unwrap_or(Path::new(""));
                        self.file(&at, inner, &child, Some(index))?
                    }
                    (None, None) => {
                        let flat = folder.join(format!("{name}.rs"));
                        let nested = inner.join("mod.rs");
                        let is_nested = self.sources.contains_key(&nested);
                        let at = if is_nested { nested } else { flat };
                        self.file(&at, &inner, &child, Some(index))?
                    }
                };
                add(name, Meaning::Module(child));
            } else if let Some(name) = defined(item) {
                add(name, Meaning::Item);
            }
        }
        self.tree.modules[index].names = names;
        self.tree.modules[index].imports = imports::of(items);
        Ok(index)
    }
}

/// Returns the name that an item defines.
fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.unraw().to_string())
}

/// Returns the file of `#[path = "..."]`.
fn attribute_path(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let pair = attribute.meta.require_name_value().ok()?;
        let syn::Expr::Lit(literal) = &pair.value else {
            return None;
        };
        match &literal.lit {
            syn::Lit::Str(text) if pair.path.is_ident("path") => Some(text.value()),
            _ => None,
        }
    })
}

/// Returns the path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part.as_os_str() == ".." {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
