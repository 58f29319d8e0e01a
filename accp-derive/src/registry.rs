//! Which registry an item is held to, read once by each compiler process.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use accp_registry::{Registry, registry_files};
use proc_macro2::Span;
use syn::LitStr;

use crate::ctxt::{Ctxt, Noted};

/// The variable that names a registry for every item that names none itself.
pub(crate) const VARIABLE: &str = "ACCP_REGISTRY";

/// A registry, and what a change of it depends on.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(crate) registry: Rc<Registry>,
    /// The files it was read from: an edit rebuilds the crate.
    pub(crate) files: Vec<PathBuf>,
    /// [`VARIABLE`] was asked: setting it rebuilds the crate.
    pub(crate) asked_variable: bool,
}

/// The registry of an item: the one it names, else the one that the environment names,
/// else the standard profiles. `None` when it cannot be read; that is noted.
pub(crate) fn load(cx: &Ctxt, named: Option<&LitStr>, is_runtime: bool) -> Option<Loaded> {
    let (path, span) = match named {
        Some(path) => (Some(path.value()), path.span()),
        // The runtime's own types follow the standard profiles, whatever a user's build sets.
        None if is_runtime => (None, Span::call_site()),
        None => (variable(cx).ok()?, Span::call_site()),
    };
    let asked_variable = named.is_none() && !is_runtime;
    let Some(path) = path else {
        return Some(Loaded {
            registry: standard(),
            files: Vec::new(),
            asked_variable,
        });
    };
    let path = absolute(&path);
    match read(&path) {
        Ok((registry, files)) => Some(Loaded {
            registry,
            files,
            asked_variable,
        }),
        Err(problems) => {
            let origin = if named.is_some() {
                ""
            } else {
                " (from the variable ACCP_REGISTRY)"
            };
            cx.error_at(
                span,
                format!("the registry{origin} cannot be used:\n{problems}"),
            );
            None
        }
    }
}

/// The value of [`VARIABLE`], where it is set.
fn variable(cx: &Ctxt) -> Result<Option<String>, Noted> {
    match std::env::var(VARIABLE) {
        Ok(path) => Ok(Some(path).filter(|path| !path.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            cx.error_at(
                Span::call_site(),
                format!("the variable {VARIABLE} is not Unicode"),
            );
            Err(Noted)
        }
    }
}

/// A path as the crate sees it that is being compiled.
fn absolute(path: &str) -> PathBuf {
    match std::env::var_os("CARGO_MANIFEST_DIR") {
        Some(root) => Path::new(&root).join(path),
        None => std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path)),
    }
}

/// The files with what tells that one was edited: a language server lives long.
type Stamp = Vec<(PathBuf, Option<SystemTime>, u64)>;

thread_local! {
    static STANDARD: RefCell<Option<Rc<Registry>>> = const { RefCell::new(None) };
    static READ: RefCell<BTreeMap<PathBuf, (Stamp, Rc<Registry>)>> = const { RefCell::new(BTreeMap::new()) };
}

fn standard() -> Rc<Registry> {
    STANDARD.with_borrow_mut(|slot| {
        slot.get_or_insert_with(|| Rc::new(Registry::standard()))
            .clone()
    })
}

fn read(path: &Path) -> Result<(Rc<Registry>, Vec<PathBuf>), String> {
    let files = registry_files(path).map_err(|problems| shown(path, &problems))?;
    let stamp: Stamp = files
        .iter()
        .map(|file| match std::fs::metadata(file) {
            Ok(metadata) => (file.clone(), metadata.modified().ok(), metadata.len()),
            Err(_) => (file.clone(), None, 0),
        })
        .collect();
    let known = READ.with_borrow(|read| read.get(path).filter(|(of, _)| *of == stamp).cloned());
    if let Some((_, registry)) = known {
        return Ok((registry, files));
    }
    let registry = Registry::load(path).map_err(|problems| shown(path, &problems))?;
    let registry = Rc::new(registry.with_profiles());
    READ.with_borrow_mut(|read| read.insert(path.to_path_buf(), (stamp, registry.clone())));
    Ok((registry, files))
}

/// The problems under the names of the files as the crate sees them: the same text on
/// every machine.
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
