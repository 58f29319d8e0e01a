//! Tests the README of this crate: its commands print the output that it shows.

use std::env;
use std::path::Path;
use std::process::Command;

#[test]
fn the_readme_shows_what_the_command_prints() {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme.split_once("```console").expect("a transcript");
    let (shown, _) = shown.split_once("```").expect("its end");
    let accp = Path::new(env!("CARGO_BIN_EXE_accp")).parent().unwrap();
    let found = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&found);
    let path = env::join_paths(std::iter::once(accp.to_owned()).chain(found)).unwrap();
    for step in shown.split("\n$ ").skip(1) {
        let (command, expected) = step.split_once('\n').expect("an answer");
        let mut shell = Command::new("sh");
        let output = shell.args(["-c", command]).env("PATH", &path).output();
        let stdout = String::from_utf8(output.unwrap().stdout).unwrap();
        assert_eq!(stdout.trim_end(), expected.trim_end(), "{command}");
    }
}
