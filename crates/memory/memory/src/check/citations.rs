//! Checks Anthropic's citations: they are on for all documents of a request, or for none.

use serde_json::Value as Json;

use super::flaw::Flaws;
use crate::finding::Code;
use crate::list::MessageList;

pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    let messages = list.messages().iter().enumerate();
    let documents = messages.flat_map(|(at, message)| {
        let blocks = message.blocks().iter();
        let documents = blocks.filter(|block| block["type"] == "document");
        documents.map(move |block| (at, is_cited(block)))
    });
    let mut documents = documents;
    let Some((_, first)) = documents.next() else {
        return;
    };
    if let Some((at, _)) = documents.find(|(_, is_cited)| *is_cited != first) {
        let text = "citations are on for some documents of the request and not for all; write the same `citations` in \
                    each";
        flaws.at(Some(at)).add(Code::CitationsMixed, text);
    }
}

fn is_cited(document: &Json) -> bool {
    document["citations"]["enabled"] == true
}
