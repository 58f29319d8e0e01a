//! What may stand in the dependency tree: licences, refused crates and sources, by `deny.toml`.
//!
//! `cargo deny check` reads the same file and knows more of it (`.ci/long dependencies`). These tests are for every
//! change: to build `cargo deny` takes minutes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::iter::Peekable;
use std::str::SplitWhitespace;

use serde_json::Value;

use super::workspace;

/// Where packages may come from, apart from the workspace itself.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The part of `deny.toml` that these tests hold the tree to.
#[derive(Debug, Default)]
struct Rules {
    /// SPDX names, with their exception: `Apache-2.0 WITH LLVM-exception`.
    licences: BTreeSet<String>,
    /// Each refused crate, with the crates that may depend on it all the same.
    refused: BTreeMap<String, BTreeSet<String>>,
}

/// A package of the tree.
#[derive(Debug, Default)]
struct Package {
    name: String,
    licence: String,
    /// `None` for a member of the workspace.
    source: Option<String>,
    /// The packages that it depends on, also in tests.
    needs: Vec<String>,
    /// Its dependencies of any version, unless they have a path.
    wildcards: Vec<String>,
}

impl Rules {
    /// # Errors
    /// Returns what TOML says, or the name of what the file lacks.
    fn parse(text: &str) -> Result<Self, String> {
        let file: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        let list = |of: Option<&toml::Value>| {
            let texts = of.and_then(toml::Value::as_array)?.iter();
            let texts = texts.map(|text| text.as_str().map(str::to_owned));
            texts.collect::<Option<BTreeSet<_>>>()
        };
        let part = |name: &str| file.get(name).ok_or(format!("deny.toml lacks [{name}]"));
        let licences = list(part("licenses")?.get("allow"));
        let denied = part("bans")?.get("deny").and_then(toml::Value::as_array);
        let mut refused = BTreeMap::new();
        for ban in denied.ok_or("deny.toml lacks bans.deny")? {
            let name = ban.get("crate").and_then(toml::Value::as_str);
            let name = name.ok_or("a ban of deny.toml lacks `crate`")?;
            refused.insert(
                name.to_owned(),
                list(ban.get("wrappers")).unwrap_or_default(),
            );
        }
        Ok(Self {
            licences: licences.ok_or("deny.toml lacks licenses.allow")?,
            refused,
        })
    }

    /// Returns what speaks against a package.
    fn check(&self, package: &Package) -> Vec<String> {
        let Package { name, licence, .. } = package;
        let mut said = Vec::new();
        if !self.allow(licence) {
            said.push(format!("{name}: licence {licence:?}"));
        }
        if let Some(source) = package
            .source
            .as_ref()
            .filter(|source| *source != CRATES_IO)
        {
            said.push(format!("{name}: from {source}"));
        }
        for need in &package.needs {
            let wrappers = self.refused.get(need);
            if wrappers.is_some_and(|wrappers| !wrappers.contains(name)) {
                said.push(format!("{name}: depends on {need}"));
            }
        }
        let wildcards = package.wildcards.iter();
        said.extend(wildcards.map(|need| format!("{name}: any version of {need}")));
        said
    }

    /// Returns whether an SPDX expression is satisfied by licences that are allowed. A text that is not an expression
    /// is not allowed.
    fn allow(&self, expression: &str) -> bool {
        // Old packages write `/` for OR.
        let spaced = expression.replace('/', " OR ");
        let spaced = spaced.replace('(', " ( ").replace(')', " ) ");
        let mut words = spaced.split_whitespace().peekable();
        self.any(&mut words) == Some(true) && words.next().is_none()
    }

    fn any(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let mut is_allowed = self.all(words)?;
        while words.next_if_eq(&"OR").is_some() {
            is_allowed |= self.all(words)?;
        }
        Some(is_allowed)
    }

    fn all(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let mut is_allowed = self.one(words)?;
        while words.next_if_eq(&"AND").is_some() {
            is_allowed &= self.one(words)?;
        }
        Some(is_allowed)
    }

    fn one(&self, words: &mut Peekable<SplitWhitespace<'_>>) -> Option<bool> {
        let mut licence = words.next()?.to_owned();
        if licence == "(" {
            let is_allowed = self.any(words)?;
            return words.next_if_eq(&")").map(|_| is_allowed);
        }
        if words.next_if_eq(&"WITH").is_some() {
            licence = format!("{licence} WITH {}", words.next()?);
        }
        Some(self.licences.contains(&licence))
    }
}

/// Reads the tree as `cargo metadata` describes it.
fn packages(metadata: &Value) -> Option<Vec<Package>> {
    let mut packages = BTreeMap::new();
    for package in metadata["packages"].as_array()? {
        let mut read = Package {
            name: package["name"].as_str()?.to_owned(),
            licence: package["license"].as_str().unwrap_or_default().to_owned(),
            source: package["source"].as_str().map(str::to_owned),
            ..Package::default()
        };
        for need in package["dependencies"].as_array()? {
            read.needs.push(need["name"].as_str()?.to_owned());
            if read.source.is_none() && need["req"] == "*" && need["path"].is_null() {
                read.wildcards.push(need["name"].as_str()?.to_owned());
            }
        }
        packages.insert(package["id"].as_str()?, read);
    }
    // A package names dependencies that are not in the tree: optional ones, those of its own tests.
    for node in metadata["resolve"]["nodes"].as_array()? {
        let mut needs = Vec::new();
        for dependency in node["deps"].as_array()? {
            needs.push(packages.get(dependency["pkg"].as_str()?)?.name.clone());
        }
        packages.get_mut(node["id"].as_str()?)?.needs = needs;
    }
    Some(packages.into_values().collect())
}

#[test]
fn the_tree_keeps_to_deny_toml() {
    let rules = fs::read_to_string(workspace::top().join("deny.toml")).unwrap();
    let rules = Rules::parse(&rules).unwrap();
    let packages = packages(&workspace::metadata().unwrap()).unwrap();
    assert!(packages.len() > 100, "{} packages", packages.len());
    let said: Vec<_> = packages.iter().flat_map(|of| rules.check(of)).collect();
    assert!(said.is_empty(), "deny.toml forbids: {said:#?}");
}

#[cfg(test)]
mod planted {
    use super::*;

    fn rules() -> Rules {
        let text = "[licenses]\nallow = [\"MIT\", \"ISC\", \"A WITH e\"]\n\
                    [bans]\ndeny = [{ crate = \"pest\", wrappers = [\"grammar\"] }, { crate = \"openssl\" }]\n";
        Rules::parse(text).unwrap()
    }

    fn package(name: &str) -> Package {
        Package {
            name: name.into(),
            licence: "MIT".into(),
            ..Package::default()
        }
    }

    #[test]
    fn expressions_of_licences_are_understood() {
        let good = [
            "MIT",
            "GPL OR MIT",
            "GPL/MIT",
            "MIT AND (GPL OR ISC)",
            "A WITH e",
            "MIT OR X AND Y",
        ];
        for expression in good {
            assert!(rules().allow(expression), "{expression}");
        }
        let bad = [
            "",
            "GPL",
            "MIT AND GPL",
            "A",
            "A WITH f",
            "(MIT",
            "MIT)",
            "MIT ISC",
            "MIT OR",
            "(GPL OR X) AND MIT",
        ];
        for expression in bad {
            assert!(!rules().allow(expression), "{expression}");
        }
    }

    #[test]
    fn what_is_forbidden_is_found() {
        let mut own = package("own");
        own.needs = vec!["pest".into(), "serde".into(), "openssl".into()];
        own.wildcards = vec!["serde".into()];
        own.source = Some("git+https://example.com/own".into());
        own.licence = "GPL".into();
        let said = [
            "own: licence \"GPL\"",
            "own: from git+https://example.com/own",
            "own: depends on pest",
            "own: depends on openssl",
            "own: any version of serde",
        ];
        assert_eq!(rules().check(&own), said);
        let mut grammar = package("grammar");
        grammar.needs = vec!["pest".into()];
        grammar.source = Some(CRATES_IO.into());
        assert_eq!(rules().check(&grammar), Vec::<String>::new());
    }

    #[test]
    fn a_file_without_rules_is_an_error() {
        for text in [
            "",
            "[licenses]\nallow = []\n",
            "[licenses]\n[bans]\ndeny = []\n",
            "[",
        ] {
            assert!(Rules::parse(text).is_err(), "{text}");
        }
    }
}
