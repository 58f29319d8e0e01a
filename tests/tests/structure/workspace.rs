//! The workspace as cargo sees it, and the text of its files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The text of each Rust file, by its path from the top of the workspace.
pub(crate) type Sources = BTreeMap<PathBuf, String>;

/// Folders without handwritten files.
const SKIPPED: [&str; 2] = ["target", ".git"];

/// A member of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// The files that rustc starts from, one for each target.
    pub(crate) roots: Vec<PathBuf>,
    /// The dependencies of the crate, optional ones too.
    pub(crate) needs: Vec<String>,
    /// The dependencies of its tests and examples only.
    pub(crate) tests_need: Vec<String>,
}

/// The workspace as cargo describes it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) crates: Vec<Crate>,
    /// For each package of the dependency tree, the packages that it needs outside tests.
    pub(crate) tree: BTreeMap<String, Vec<String>>,
}

/// Returns the top folder of the workspace.
pub(crate) fn top() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap_or(tests).to_owned()
}

/// Returns cargo's description of the workspace and of all its dependencies, with all features.
///
/// # Errors
/// Returns cargo's own error.
fn metadata() -> Result<Value, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version=1",
            "--all-features",
            "--locked",
        ])
        .current_dir(top())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

impl Workspace {
    /// Asks cargo.
    ///
    /// # Errors
    /// Returns cargo's own error, or the name of a field that cargo's answer lacks.
    pub(crate) fn read() -> Result<Self, String> {
        Self::parse(&metadata()?).ok_or_else(|| "cargo metadata lacks a field".into())
    }

    fn parse(metadata: &Value) -> Option<Self> {
        let root = Path::new(metadata["workspace_root"].as_str()?);
        let members = metadata["workspace_members"].as_array()?;
        let mut names = BTreeMap::new();
        let mut crates = Vec::new();
        for package in metadata["packages"].as_array()? {
            let name = package["name"].as_str()?;
            names.insert(package["id"].as_str()?, name);
            if members.contains(&package["id"]) {
                crates.push(Crate::parse(root, package)?);
            }
        }
        let mut tree = BTreeMap::<_, Vec<_>>::new();
        for node in metadata["resolve"]["nodes"].as_array()? {
            let needs = tree
                .entry((*names.get(node["id"].as_str()?)?).to_owned())
                .or_default();
            for dependency in node["deps"].as_array()? {
                let kinds = dependency["dep_kinds"].as_array()?;
                if kinds.iter().any(|kind| kind["kind"] != "dev") {
                    needs.push((*names.get(dependency["pkg"].as_str()?)?).to_owned());
                }
            }
        }
        Some(Self { crates, tree })
    }

    /// Returns all dependencies of a package, at any depth.
    pub(crate) fn all_needs(&self, name: &str) -> Vec<String> {
        let mut all = vec![name.to_owned()];
        let mut at = 0;
        while let Some(name) = all.get(at) {
            for need in self.tree.get(name).cloned().unwrap_or_default() {
                if !all.contains(&need) {
                    all.push(need);
                }
            }
            at += 1;
        }
        all.split_off(1)
    }
}

impl Crate {
    fn parse(root: &Path, package: &Value) -> Option<Self> {
        let mut roots = Vec::new();
        for target in package["targets"].as_array()? {
            let path = Path::new(target["src_path"].as_str()?);
            roots.push(path.strip_prefix(root).ok()?.to_owned());
        }
        let (mut needs, mut tests_need) = (Vec::new(), Vec::new());
        for dependency in package["dependencies"].as_array()? {
            let name = dependency["name"].as_str()?.to_owned();
            let kind = if dependency["kind"] == "dev" {
                &mut tests_need
            } else {
                &mut needs
            };
            kind.push(name);
        }
        Some(Self {
            name: package["name"].as_str()?.to_owned(),
            roots,
            needs,
            tests_need,
        })
    }
}

/// Reads every Rust file below a folder.
///
/// # Errors
/// Returns the name of the place that cannot be read.
pub(crate) fn sources(top: &Path) -> Result<Sources, String> {
    files(top, "rs")
}

/// Reads every file below a folder that has this extension.
pub(crate) fn files(top: &Path, extension: &str) -> Result<Sources, String> {
    let mut all = Sources::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("{}: {error}", folder.display());
        for file in fs::read_dir(&folder).map_err(failed)? {
            let file = file.map_err(failed)?;
            let path = file.path();
            if file.file_type().map_err(failed)?.is_dir() {
                if !SKIPPED.iter().any(|name| file.file_name() == *name) {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|of| of == extension) {
                let text = fs::read_to_string(&path).map_err(failed)?;
                let name = path.strip_prefix(top).unwrap_or(&path).to_owned();
                all.insert(name, text);
            }
        }
    }
    Ok(all)
}
