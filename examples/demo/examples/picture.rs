//! Draws the picture of the README: agents, a hub and a store.
//!
//! `cargo run -p demo --example picture -- docs/picture.svg` writes the file. With `--check` it fails if the file
//! has another content.

use std::error::Error;
use std::fmt::Write as _;

const WIDTH: u32 = 820;
const HEIGHT: u32 = 330;

/// A box with a title and a line below it.
struct Box {
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    colour: &'static str,
    title: &'static str,
    below: &'static str,
}

const BOXES: [Box; 5] = [
    agent(20, "planner", "in the hub's process"),
    agent(125, "dev", "WebSocket, its own store"),
    agent(230, "a model", "MCP, or a tool call"),
    Box {
        x: 360,
        y: 20,
        width: 190,
        height: 290,
        colour: "#e8f0fe",
        title: "hub",
        below: "one log for each session",
    },
    Box {
        x: 660,
        y: 95,
        width: 140,
        height: 140,
        colour: "#e6f4ea",
        title: "store",
        below: "SQLite, PostgreSQL",
    },
];

/// The lines of the log in the box of the hub.
const LOG: [&str; 4] = [
    "1  planner > req:refund",
    "2  dev > done:refund",
    "3  model > req:tool",
    "4  checkpoint",
];

/// An arrow from one point to another, with its words.
type Arrow = ([u32; 2], [u32; 2], &'static str);

const ARROWS: [Arrow; 6] = [
    ([220, 45], [355, 45], "1 typed frame"),
    ([555, 140], [655, 140], "2 commit"),
    ([655, 190], [555, 190], "durable"),
    ([355, 80], [220, 80], "3 acknowledged"),
    ([355, 165], [220, 165], "4 relayed, once"),
    ([355, 270], [220, 270], "a view of it all"),
];

const fn agent(y: u32, title: &'static str, below: &'static str) -> Box {
    Box {
        x: 20,
        y,
        width: 195,
        height: 80,
        colour: "#fef7e0",
        title,
        below,
    }
}

/// Returns the picture.
fn picture() -> String {
    let mut svg = format!(
        "<!-- Written by examples/demo/examples/picture.rs; do not edit. -->\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <defs><marker id=\"end\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0 8 4 0 8z\" fill=\"#555\"/></marker></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    for of in &BOXES {
        let middle = of.x + of.width / 2;
        line(
            &mut svg,
            format_args!(
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"8\" fill=\"{}\" stroke=\"#555\"/>",
                of.x, of.y, of.width, of.height, of.colour
            ),
        );
        let title = format!("font-weight=\"bold\" text-anchor=\"middle\">{}", of.title);
        text(&mut svg, [middle, of.y + 30], &title);
        let below = format!("text-anchor=\"middle\" fill=\"#444\">{}", of.below);
        text(&mut svg, [middle, of.y + 54], &below);
    }
    for (row, entry) in (0..).zip(LOG) {
        let entry = format!(
            "font-family=\"monospace\" font-size=\"12\">{}",
            entry.replace('>', "&gt;")
        );
        text(&mut svg, [375, 125 + 30 * row], &entry);
    }
    for (from, to, words) in ARROWS {
        line(
            &mut svg,
            format_args!(
                "<path d=\"M{} {} {} {}\" stroke=\"#555\" marker-end=\"url(#end)\"/>",
                from[0], from[1], to[0], to[1]
            ),
        );
        let words = format!("text-anchor=\"middle\" font-size=\"12\">{words}");
        text(
            &mut svg,
            [u32::midpoint(from[0], to[0]), from[1] - 7],
            &words,
        );
    }
    svg + "</svg>\n"
}

fn text(svg: &mut String, [x, y]: [u32; 2], rest: &str) {
    line(svg, format_args!("<text x=\"{x}\" y=\"{y}\" {rest}</text>"));
}

fn line(svg: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(svg, "{arguments}");
}

fn main() -> Result<(), std::boxed::Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [file] => std::fs::write(file, picture())?,
        [file, "--check"] if std::fs::read_to_string(file)? == picture() => {}
        [file, "--check"] => {
            let cure = format!("cargo run -p demo --example picture -- {file}");
            return Err(format!("{file} is out of date; run `{cure}`").into());
        }
        _ => return Err("usage: picture FILE [--check]".into()),
    }
    Ok(())
}
