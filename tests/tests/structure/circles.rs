//! No circle of imports between the files of a crate.
//!
//! # Rules
//!
//! - File A has an arrow to file B if a path in A leads to an item that B defines. The paths are in
//!   `use` items, in code (`crate::a::b`, `super::a`, `self::a`, and `a::b` if the module has a
//!   name `a`), and in the input and output of macros.
//! - Names are followed through `use`, `pub(crate) use` and `pub use`, globs too, to the file that
//!   defines the item. A path that ends at a module leads to the file of that module. In
//!   `Reader::new`, the item is `Reader`.
//! - A glob gives an arrow for each of its names that the module writes.
//! - An arrow between a file and its parent, at any distance, does not count. A parent may use its
//!   children, and a child may use its parents.
//! - Not counted: code under `#[cfg(test)]`, links in documentation, methods called on a value,
//!   texts in attributes.
//!
//! A circle is a strongly connected component of more than one file.
//!
//! Circles between the files and folders of one folder are not allowed either. A folder has all arrows of the files
//! in it. The file of a folder's own name counts as part of the folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::imports::Names;
use super::tree::{Meaning, Tree};
use super::workspace::{self, Workspace};

/// For each file, the files that it imports from, with the imported items.
type Arrows = BTreeMap<usize, BTreeMap<usize, BTreeSet<String>>>;

/// The most re-exports to follow. After that, the name counts as a name of another crate.
const STEPS: usize = 8;

/// Files that import one another.
#[derive(Debug, PartialEq, Eq)]
struct Circle {
    files: BTreeSet<PathBuf>,
    /// The shortest way round, with the imported items.
    text: String,
}

/// Finds the circles of a crate.
fn circles(tree: &Tree) -> Vec<Circle> {
    let arrows = arrows(tree);
    let mut reach = BTreeMap::new();
    for file in 0..tree.files.len() {
        reach.insert(file, reached(&arrows, file));
    }
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for file in 0..tree.files.len() {
        let back = |other: &usize| *other == file || reach[other].contains(&file);
        let circle: BTreeSet<_> = reach[&file].iter().copied().filter(back).collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            circles.push(Circle {
                text: shortest(tree, &arrows, &circle),
                files: circle
                    .iter()
                    .map(|file| tree.files[*file].clone())
                    .collect(),
            });
        }
    }
    circles
}

fn arrows(tree: &Tree) -> Arrows {
    let mut arrows = Arrows::new();
    for (index, module) in tree.modules.iter().enumerate() {
        let mut paths = module.imports.paths.clone();
        for glob in &module.imports.globs {
            for word in &module.imports.words {
                if !module.names.contains_key(word) {
                    paths.insert([&glob[..], std::slice::from_ref(word)].concat());
                }
            }
        }
        for path in paths {
            let Some((file, item)) = defined_in(tree, index, &path, STEPS) else {
                continue;
            };
            if !is_family(tree, module.file, file) {
                let items = arrows
                    .entry(module.file)
                    .or_default()
                    .entry(file)
                    .or_default();
                items.insert(item);
            }
        }
    }
    arrows
}

/// For the path of each folder, the paths of the neighbours that its modules import from. Each import has one arrow
/// between files as an example.
type Rooms = BTreeMap<Vec<String>, BTreeMap<Vec<String>, (usize, usize)>>;

/// Returns the neighbours that import from each other in both directions, as lines with an example of each arrow.
fn folders_both_ways(tree: &Tree) -> Vec<String> {
    let path = |file: usize| tree.module_of(file).map(|module| &module.path[..]);
    let mut rooms = Rooms::new();
    for (&from, arrows) in &arrows(tree) {
        for &to in arrows.keys() {
            let (Some(one), Some(other)) = (path(from), path(to)) else {
                continue;
            };
            let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
            let [one, other] = [one, other].map(|path| path[..=common].to_vec());
            let imports = rooms.entry(one).or_default();
            imports.entry(other).or_insert((from, to));
        }
    }
    let mut found = Vec::new();
    for (room, imports) in &rooms {
        for (neighbour, &(from, to)) in imports {
            if leads_to(&rooms, neighbour, room) {
                let [from, to] = [from, to].map(|file| tree.files[file].display());
                let [room, neighbour] = [room, neighbour].map(|path| path.join("::"));
                found.push(format!("  {room} -> {neighbour}: {from} -> {to}\n"));
            }
        }
    }
    found
}

/// Returns whether imports lead from one neighbour to another, at any distance.
fn leads_to(rooms: &Rooms, from: &[String], to: &[String]) -> bool {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(room) = next.pop() {
        if room == to {
            return true;
        }
        for neighbour in rooms.get(room).into_iter().flat_map(BTreeMap::keys) {
            if seen.insert(neighbour) {
                next.push(neighbour);
            }
        }
    }
    false
}

/// Returns the file that defines the target of a path, and the item's name.
fn defined_in(tree: &Tree, from: usize, path: &[String], steps: usize) -> Option<(usize, String)> {
    let (mut at, mut rest) = (from, path);
    while let Some((name, after)) = rest.split_first() {
        let module = &tree.modules[at];
        let meanings = module.names.get(name).map_or(&[][..], Vec::as_slice);
        let child = meanings.iter().find_map(Meaning::module);
        let next = match name.as_str() {
            "crate" => Some(0),
            "self" => Some(at),
            "super" => Some(module.parent?),
            // If a module and an item share a name, the last name of a path is the item.
            _ => child.filter(|_| !after.is_empty() || meanings.len() == 1),
        };
        if let Some(next) = next {
            (at, rest) = (next, after);
            continue;
        }
        if meanings.contains(&Meaning::Item) {
            return Some((module.file, name.clone()));
        }
        let steps = steps.checked_sub(1)?;
        let mut sources: Vec<Names> = meanings.iter().filter_map(Meaning::used).collect();
        // The first name of a path may name a crate. A glob import never brings in a crate name.
        if sources.is_empty() && at != from {
            let globs = module.imports.globs.iter();
            sources.extend(globs.map(|glob| [&glob[..], std::slice::from_ref(name)].concat()));
        }
        let found = |source: Names| defined_in(tree, at, &[&source[..], after].concat(), steps);
        return sources.into_iter().find_map(found);
    }
    let module = &tree.modules[at];
    let name = module.path.last().map_or("crate", String::as_str);
    Some((module.file, name.to_owned()))
}

/// Returns whether the two files are the same, or one is a parent of the other.
fn is_family(tree: &Tree, one: usize, other: usize) -> bool {
    let path = |file| {
        tree.module_of(file)
            .map_or(&[][..], |module| &module.path[..])
    };
    let (one, other): (&[String], &[String]) = (path(one), path(other));
    one.starts_with(other) || other.starts_with(one)
}

/// Returns all files that arrows from one file reach.
fn reached(arrows: &Arrows, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for to in arrows.get(&file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(*to) {
                next.push(*to);
            }
        }
    }
    reached
}

/// Returns the shortest way from a file of a circle back to itself, with a line for each arrow.
fn shortest(tree: &Tree, arrows: &Arrows, circle: &BTreeSet<usize>) -> String {
    let ways = circle.iter().filter_map(|start| way_back(arrows, *start));
    let way = ways.min_by_key(Vec::len).unwrap_or_default();
    let arrow = |pair: &[usize]| {
        let items: Vec<_> = arrows[&pair[0]][&pair[1]]
            .iter()
            .map(String::as_str)
            .collect();
        let [from, to] = [pair[0], pair[1]].map(|file| tree.files[file].display());
        format!("  {from} -> {to}: {}\n", items.join(", "))
    };
    way.windows(2).map(arrow).collect()
}

/// Searches breadth first for a way from a file back to itself.
fn way_back(arrows: &Arrows, start: usize) -> Option<Vec<usize>> {
    let mut ways = std::collections::VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for to in arrows.get(way.last()?).into_iter().flat_map(BTreeMap::keys) {
            let longer = [&way[..], &[*to]].concat();
            if *to == start {
                return Some(longer);
            }
            if seen.insert(*to) {
                ways.push_back(longer);
            }
        }
    }
    None
}

/// Returns a report of the files of a crate that import one another.
fn check(name: &str, tree: &Tree) -> String {
    let say = |circle: Circle| {
        let files: Vec<_> = circle
            .files
            .iter()
            .map(|file| file.to_string_lossy())
            .collect();
        let (many, text, all) = (files.len(), &circle.text, files.join(", "));
        format!("{name}: {many} files import one another:\n{text}  among {all}\n")
    };
    circles(tree).into_iter().map(say).collect()
}

#[test]
fn no_file_imports_itself_through_others() {
    let sources = workspace::sources(&workspace::top()).unwrap();
    let mut findings = String::new();
    for of in Workspace::read().unwrap().crates {
        for root in of.roots {
            let tree = Tree::read(&sources, &root).unwrap();
            findings += &check(&of.name, &tree);
        }
    }
    assert!(findings.is_empty(), "{findings}");
}

#[test]
fn no_folder_imports_back_from_what_imports_from_it() {
    let sources = workspace::sources(&workspace::top()).unwrap();
    let mut findings = String::new();
    for of in Workspace::read().unwrap().crates {
        for root in of.roots {
            let tree = Tree::read(&sources, &root).unwrap();
            for line in folders_both_ways(&tree) {
                findings += &of.name;
                findings += &line;
            }
        }
    }
    assert!(findings.is_empty(), "{findings}");
}

#[cfg(test)]
mod planted {
    use super::*;
    use crate::structure::workspace::Sources;

    /// Returns the circles of a crate that is given as file names and texts.
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Sources = files
            .iter()
            .map(|(path, text)| ((*path).into(), (*text).into()))
            .collect();
        let tree = Tree::read(&sources, std::path::Path::new("lib.rs")).unwrap();
        circles(&tree)
            .into_iter()
            .map(|circle| circle.text)
            .collect()
    }

    #[test]
    fn two_files_that_use_one_another() {
        let circles = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            (
                "b.rs",
                "pub struct B; impl B { fn f() -> super::a::A { todo!() } }",
            ),
        ]);
        assert_eq!(circles, ["  a.rs -> b.rs: B\n  b.rs -> a.rs: A\n"]);
    }

    #[test]
    fn through_what_the_root_re_exports() {
        let circles = of(&[
            (
                "lib.rs",
                "mod a; mod b; mod c; pub use a::A; pub(crate) use b::*; use c::C as D;",
            ),
            ("a.rs", "use crate::{B}; pub struct A;"),
            ("b.rs", "pub struct B(crate::D);"),
            ("c.rs", "use super::A; pub struct C;"),
        ]);
        assert_eq!(
            circles,
            ["  a.rs -> b.rs: B\n  b.rs -> c.rs: C\n  c.rs -> a.rs: A\n"]
        );
    }

    #[test]
    fn through_a_module_a_glob_and_a_macro() {
        let circles = of(&[
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use super::b; pub fn f() { b::g() }"),
            ("b.rs", "use crate::c::*; pub fn g() { h() }"),
            ("c.rs", "pub fn h() { println!(\"{}\", crate::a::f()) }"),
        ]);
        assert_eq!(
            circles,
            ["  a.rs -> b.rs: b, g\n  b.rs -> c.rs: h\n  c.rs -> a.rs: f\n"]
        );
    }

    #[test]
    fn between_folders() {
        let circles = of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod deep; pub struct A;"),
            ("a/deep.rs", "use crate::b::inner::C; pub struct D;"),
            (
                "b/mod.rs",
                "pub mod inner; pub struct B(crate::a::deep::D);",
            ),
            ("b/inner.rs", "use crate::a::deep::D; pub struct C;"),
        ]);
        assert_eq!(
            circles,
            ["  a/deep.rs -> b/inner.rs: C\n  b/inner.rs -> a/deep.rs: D\n"]
        );
    }

    #[test]
    fn folders_whose_files_have_no_circle() {
        let sources: Sources = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "mod one; mod two; pub struct A;"),
            ("a/one.rs", "use crate::b::B; pub struct One(B);"),
            ("a/two.rs", "pub struct Two;"),
            ("b.rs", "mod low; mod high; pub struct B;"),
            ("b/low.rs", "use crate::a::two::Two; pub struct Low(Two);"),
            ("b/high.rs", "use super::low::Low; pub struct High(Low);"),
        ]
        .into_iter()
        .map(|(path, text)| (path.into(), text.into()))
        .collect();
        let tree = Tree::read(&sources, std::path::Path::new("lib.rs")).unwrap();
        assert!(circles(&tree).is_empty());
        assert_eq!(
            folders_both_ways(&tree),
            [
                "  a -> b: a/one.rs -> b.rs\n",
                "  b -> a: b/low.rs -> a/two.rs\n"
            ]
        );
    }

    #[test]
    fn parents_tests_and_other_crates_do_not_count() {
        let circles = of(&[
            ("lib.rs", "mod a; mod b; mod tree; pub struct Top;"),
            (
                "a.rs",
                "use crate::{Top, b::B}; use serde::b; pub struct A;",
            ),
            (
                "b.rs",
                "pub struct B; #[cfg(test)] mod tests { use crate::a::A; }
                 #[cfg(test)] use crate::a::A;
                 /// As [`crate::a::A`].
                 fn f() { a::g(); ::a::g(); }",
            ),
            ("tree.rs", "mod leaf; pub struct Tree(leaf::Leaf);"),
            ("tree/leaf.rs", "use super::Tree; pub struct Leaf;"),
        ]);
        assert_eq!(circles, Vec::<String>::new());
    }

    #[test]
    fn a_circle_is_said_with_its_files() {
        let sources = Sources::from([
            ("lib.rs".into(), "mod a; mod b;".into()),
            ("a.rs".into(), "use crate::b::B; pub struct A;".into()),
            ("b.rs".into(), "use crate::a::A; pub struct B;".into()),
        ]);
        let tree = Tree::read(&sources, std::path::Path::new("lib.rs")).unwrap();
        let findings = check("x", &tree);
        assert!(findings.starts_with("x: 2 files import one another:\n  a.rs -> b.rs: B\n"));
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let sources = Sources::from([("lib.rs".into(), "mod a;".into())]);
        let tree = Tree::read(&sources, std::path::Path::new("lib.rs"));
        assert_eq!(tree.unwrap_err(), "a.rs: no such file");
    }
}
