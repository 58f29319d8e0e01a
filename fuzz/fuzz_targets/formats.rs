//! Fuzzes the formats of recordings: a document is read without loss, and its frames give the same document again. A
//! document may be refused because it has another form, but never because something would be lost.
#![no_main]

use accp_recordings::{
    Conversation, ConvertOptions, Converter, Documents, Format, NotConversation, ReadError,
};
use accp_runtime::TokenCounter;

/// Counts bytes.
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // The iterator of documents ends after its first error.
    for document in Documents::new(bytes).flatten() {
        let forced = Format::ALL.map(Some);
        for format in std::iter::once(None).chain(forced) {
            check(document.clone().conversation(format));
        }
    }
});

fn check(read: Result<Conversation, ReadError>) {
    match read {
        Ok(conversation) => {
            let content = conversation.content();
            let shown = (0..conversation.messages().len()).map(|index| content.of_message(index));
            assert_eq!(
                shown.sum::<u64>(),
                content.bytes(),
                "the messages show all of it"
            );
            let mut converter = Converter::new(ConvertOptions::default(), Bytes);
            assert_eq!(converter.verify(&conversation), Ok(()));
            // If another format can write the conversation, the result can be read again.
            let others = Format::ALL.into_iter();
            for format in others.filter(|format| *format != conversation.format()) {
                if let Ok(json) = conversation.written(format) {
                    let read = Documents::new(json.to_string().as_bytes()).next();
                    let read = read.expect("a document").expect("JSON").conversation(None);
                    assert!(read.is_ok(), "{format}: {read:?}");
                }
            }
        }
        Err(ReadError::Conversation {
            why: NotConversation::Lost { format, pointer },
            ..
        }) => {
            panic!("{pointer} would be lost (read as {format})")
        }
        Err(_) => {}
    }
}
