//! Loads the registry against which an item is checked. Each compiler process reads a registry only once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use accp_registry::{Protocol, Registry, registry_files};
use proc_macro2::{Ident, Span};
use syn::LitStr;

use crate::ctxt::{Ctxt, Reported};

/// A registry, and the inputs from which it comes. If an input changes, the crate must be compiled again.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) registry: Rc<Registry>,
    /// The files that the registry was read from: Cargo compiles the crate again when one of them changes. Only the
    /// first item of the crate that reads a file tracks it, because the code of each tracking item contains the whole
    /// file.
    pub(crate) files: Vec<PathBuf>,
    /// The environment variable that may name the registry. Cargo compiles the crate again when the variable changes.
    pub(crate) asked: Option<&'static str>,
    /// Whether the item or the variable names the registry.
    is_named: bool,
}

impl Loaded {
    /// If neither the item nor the environment names a registry, returns the environment variable that could name
    /// one.
    pub(crate) fn unnamed(&self) -> Option<&'static str> {
        self.asked.filter(|_| !self.is_named)
    }
}

/// Returns the registry of an item: the registry that the item names, or else the registry that the environment
/// variable names, or else the standard profiles. `None` when the registry cannot be read; the mistake is reported.
pub(crate) fn load(
    cx: &Ctxt,
    variable: &'static str,
    named: Option<&LitStr>,
    is_runtime: bool,
    item: &Ident,
) -> Option<Loaded> {
    let (path, span) = match named {
        Some(path) => (Some(path.value()), path.span()),
        // The types of the runtime itself always follow the standard profiles, even if the environment variable of
        // the user's build names a registry.
        None if is_runtime => (None, Span::call_site()),
        None => (value_of(cx, variable).ok()?, Span::call_site()),
    };
    let protocol = cx.protocol;
    let asked = (named.is_none() && !is_runtime).then_some(variable);
    let Some(path) = path else {
        return Some(Loaded {
            registry: standard(protocol),
            files: Vec::new(),
            asked,
            is_named: false,
        });
    };
    let path = absolute(&path);
    match read(protocol, &path) {
        Ok((registry, mut files)) => {
            files.retain(|file| is_first(&file.to_string_lossy(), item));
            Some(Loaded {
                registry,
                files,
                asked,
                is_named: true,
            })
        }
        Err(problems) => {
            let origin = match asked {
                Some(variable) => format!(" (from the variable {variable})"),
                None => String::new(),
            };
            let message = format!("the registry{origin} cannot be used:\n{problems}");
            // A mistake in the registry concerns all items of the crate, so only the first item reports it.
            if is_first(&message, item) {
                cx.error_at(span, message);
            }
            None
        }
    }
}

/// Returns whether this item is the first of its crate with this message. If a language server expands the item
/// again, it still counts as the first.
pub(crate) fn is_first(said: &str, item: &Ident) -> bool {
    let crate_name = std::env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let first = SAID.with_borrow_mut(|all| {
        let key = (crate_name, said.to_owned());
        all.entry(key).or_insert_with(|| item.to_string()).clone()
    });
    *item == first
}

/// Returns the value of the variable, if it is set.
fn value_of(cx: &Ctxt, variable: &str) -> Result<Option<String>, Reported> {
    match std::env::var(variable) {
        Ok(path) => Ok(Some(path).filter(|path| !path.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            cx.error_at(
                Span::call_site(),
                format!("the variable {variable} is not Unicode"),
            );
            Err(Reported)
        }
    }
}

/// Returns an absolute path for a path that is relative to the crate being compiled.
fn absolute(path: &str) -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(root) => Path::new(&root).join(path),
        None => std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)),
    }
}

/// The files of a registry, each with its time and size. They show whether a file was edited since it was read: the
/// process of a language server goes on when files are edited.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

/// A registry's file or directory, with the name of its protocol.
type Key = (&'static str, PathBuf);

thread_local! {
    static STANDARD: RefCell<BTreeMap<&'static str, Rc<Registry>>> = const { RefCell::new(BTreeMap::new()) };
    static SAID: RefCell<BTreeMap<(String, String), String>> = const { RefCell::new(BTreeMap::new()) };
    static READ: RefCell<BTreeMap<Key, (Stamp, Rc<Registry>)>> = const { RefCell::new(BTreeMap::new()) };
}

fn standard(protocol: &'static Protocol) -> Rc<Registry> {
    STANDARD.with_borrow_mut(|known| {
        known
            .entry(protocol.name)
            .or_insert_with(|| Rc::new(Registry::standard_of(protocol)))
            .clone()
    })
}

fn read(protocol: &'static Protocol, path: &Path) -> Result<(Rc<Registry>, Vec<PathBuf>), String> {
    let files = registry_files(path).map_err(|problems| shown(path, &problems))?;
    let stamp: Stamp = files
        .iter()
        .map(|file| match std::fs::metadata(file) {
            Ok(metadata) => (file.clone(), metadata.modified().ok(), metadata.len()),
            Err(_) => (file.clone(), None, 0),
        })
        .collect();
    let key = (protocol.name, path.to_path_buf());
    let known = READ.with_borrow(|read| read.get(&key).filter(|(of, _)| *of == stamp).cloned());
    if let Some((_, registry)) = known {
        return Ok((registry, files));
    }
    let registry = Registry::load_of(protocol, path).map_err(|problems| shown(path, &problems))?;
    let registry = Rc::new(registry.with_profiles());
    READ.with_borrow_mut(|read| read.insert(key, (stamp, registry.clone())));
    Ok((registry, files))
}

/// Returns the problems as text. File names are relative to the crate, so that the text is the same on every machine.
fn shown(path: &Path, problems: &accp_registry::Problems) -> String {
    let text = problems.to_string();
    let Some(root) = std::env::var_os("CARGO_MANIFEST_DIR") else {
        return text;
    };
    match path.strip_prefix(&root) {
        Ok(_) => text.replace(
            &format!(
                "{}{}",
                Path::new(&root).display(),
                std::path::MAIN_SEPARATOR
            ),
            "",
        ),
        Err(_) => text,
    }
}
