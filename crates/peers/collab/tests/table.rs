//! The documentation has the same table of the state machine as the code.

use accp_collab::table::rendered;

#[test]
fn the_documentation_has_the_table() {
    let text = include_str!("../../../../docs/collab.md");
    let after = text.split_once("<!-- accp collab table -->\n");
    let table = after.and_then(|(_, rest)| rest.split_once("<!-- end -->"));
    let (table, _) = table.expect("docs/collab.md has a place for the table");
    assert_eq!(
        table,
        rendered::markdown(),
        "write what `accp collab table` prints into docs/collab.md"
    );
}

#[test]
fn all_forms_have_all_rows() {
    let rows = rendered::json();
    let rows = rows["rows"].as_array().expect("rows");
    assert_eq!(rendered::markdown().lines().count(), rows.len() + 2);
    // Each of the two final phases has an arrow out of the diagram.
    let arrows = rendered::mermaid().matches("-->").count();
    assert_eq!(arrows, rows.len() + 2);
}
