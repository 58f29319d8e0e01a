//! The part of the page that shows prompts.

use std::fmt::Write as _;

use super::Corpus;
use super::chart::escaped;

pub(super) const STYLE: &str = include_str!("viewer.css");
const SCRIPT: &str = include_str!("viewer.js");

const CONTROLS: &str = "\
<div class=\"bar\"><label><span>Conversation</span> <select id=\"scene\"></select></label>\
<label><span>Turn</span> <button id=\"back\" title=\"the turn before\">&lt;</button> <select id=\"turn\"></select> \
<button id=\"on\" title=\"the next turn\">&gt;</button></label>\
<label><span>Left</span> <select id=\"left\"></select></label><label><span>Right</span> <select id=\"right\"></select></label></div>
<h3>The message that answers the prompt: <span id=\"name\"></span></h3><div class=\"said\" id=\"answer\"></div>
<h3>What it needs: <select id=\"filter\"><option value=\"all\">all</option>\
<option value=\"lacking\">what a prompt lacks</option>\
<option value=\"differ\">what differs</option></select> <span id=\"count\" class=\"none\"></span></h3>
<div class=\"needs\"><table><thead><tr><th>need</th><th>said in</th><th>text</th><th>left</th>\
<th>right</th></tr></thead><tbody id=\"needs\"></tbody></table></div>
<h3>Where it was said<span id=\"who\"></span></h3><div class=\"said\" id=\"said\"></div>
<div class=\"pair\"><div><h3>Left: <span id=\"left-name\"></span></h3><div class=\"prompt\" id=\"left-prompt\"></div></div>\
<div><h3>Right: <span id=\"right-name\"></span></h3><div class=\"prompt\" id=\"right-prompt\"></div></div></div>
";

/// The most bytes of the prompts in a page; the first conversation is always there.
const MOST: usize = 24 << 20;

/// Writes the part of the page.
pub(super) fn write(page: &mut String, corpora: &[Corpus]) {
    let mut scenes: Vec<String> = Vec::new();
    let mut bytes = 0;
    let mut counts = Vec::new();
    for corpus in corpora {
        let before = scenes.len();
        for scene in &corpus.scenes {
            let scene = scene.to_string();
            if scenes.is_empty() || bytes + scene.len() <= MOST {
                bytes += scene.len();
                scenes.push(scene);
            }
        }
        counts.push(scenes.len() - before);
    }
    if scenes.is_empty() {
        return;
    }
    page.push_str(
        "<section class=\"viewer\"><h2>Prompts</h2>\n<p>Two prompts of the same turn. \
         <b class=\"fate shown\">shown</b> stands in the prompt and is marked there where the page \
         finds it; <b class=\"fate fetched\">fetched</b> stands in a window that the agent fetched \
         before; <b class=\"fate miss\">miss</b> has to be fetched; <b class=\"fate lost\">lost</b> \
         has to be searched for. In the message that answers the prompt a need has the colour of \
         the worse of the two.</p>\n",
    );
    let counts = corpora.iter().zip(counts).map(|(corpus, shown)| {
        let all = corpus.rows.first().map_or(0, |row| row.held.len());
        format!("{shown} of {all} of {}", escaped(&corpus.name))
    });
    let _ = writeln!(
        page,
        "<p class=\"note\">Conversations here: {}. <code>--show ID</code> chooses others; a page holds \
         at most 24 MB of prompts.</p>",
        counts.collect::<Vec<_>>().join(", "),
    );
    page.push_str(CONTROLS);
    // In a script element, `<` could begin the end tag. In JSON, `<` occurs only in strings.
    let scenes = scenes.join(",").replace('<', "\\u003c");
    let _ = writeln!(
        page,
        "<script type=\"application/json\" id=\"scenes\">[{scenes}]</script>\n\
         <script>{SCRIPT}</script></section>",
    );
}
