//! The example in the main README is the program `examples/lunch.rs`.

#[test]
fn the_example_of_the_readme_is_a_program() {
    let readme = include_str!("../../../README.md");
    let program = bare(include_str!("../examples/lunch.rs"));
    let start = readme.find("let store = Arc::new").unwrap();
    let end = start + readme[start..].find("```").unwrap();
    assert!(program.contains(&bare(&readme[start..end])));
}

/// Returns the letters and digits of a text. rustfmt sets the rest in another way.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}
