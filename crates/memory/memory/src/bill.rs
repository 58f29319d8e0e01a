//! What a provider bills for a message.

use accp_context::{Call, Recorded};
use accp_tokens::MediaPrices;
use serde_json::Value as Json;

use crate::form::Form;
use crate::message::ListMessage;

/// The tokens that a provider puts around a message: its role, and where it begins and ends.
pub const AROUND: u64 = 4;

/// What a provider bills for a message of a list, without the tokens that it puts around the message ([`AROUND`]).
///
/// ```
/// use accp_memory::{Form, MessageList};
///
/// let list = MessageList::read(
///     r#"[{"role":"assistant","content":"I look.","tool_calls":[
///         {"id":"c1","type":"function","function":{"name":"stock","arguments":"{\"item\":\"rye\"}"}}]}]"#,
///     None,
/// )?;
/// let billed = list.messages()[0].billed(list.form());
/// assert_eq!(billed.text, "I look.\nstock\n{\"item\":\"rye\"}");
/// assert_eq!(billed.media, 0);
/// # Ok::<(), accp_memory::Finding>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Billed {
    /// The name of the speaker, the texts of the content, and the name and the arguments of each call, with a line feed
    /// between them. Keys, ids and escapes of JSON are not there: a model does not read them.
    pub text: String,
    /// The tokens of pictures, documents and sounds.
    pub media: u64,
}

impl ListMessage {
    /// Returns what a provider of this form bills for the message.
    pub fn billed(&self, form: Form) -> Billed {
        self.billed_at(form, None)
    }

    /// Does the same as `billed`, with a model's prices for pictures, documents and sounds.
    pub(crate) fn billed_at(&self, form: Form, prices: Option<MediaPrices>) -> Billed {
        let mut text = match form {
            Form::OpenAi => billed_text(Recorded::of(self.json())),
            Form::Anthropic | Form::Responses => {
                let model = self.model(form);
                let texts = model.iter().map(|json| billed_text(Recorded::of(json)));
                texts.collect::<Vec<_>>().join("\n")
            }
        };
        if form != Form::OpenAi {
            // `Model` shows a line in the place of a picture. The provider gets no such line, so it is taken out.
            for found in self.media.iter() {
                text = text.replacen(&found.line(), "", 1);
            }
        }
        Billed {
            text,
            media: self.media_tokens(prices),
        }
    }
}

/// Returns the texts of a message that a model reads.
fn billed_text(message: Recorded<'_>) -> String {
    let mut parts: Vec<String> = message.name().map(str::to_owned).into_iter().collect();
    parts.extend(message.texts().into_iter().map(str::to_owned));
    for call in message.calls() {
        parts.extend(call.tool().map(str::to_owned));
        parts.extend(arguments(&call));
    }
    parts.join("\n")
}

/// Returns the arguments of a call: a text as it was written, and a value as compact JSON.
fn arguments(call: &Call<'_>) -> Option<String> {
    match call.recorded_arguments()? {
        Json::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::list::MessageList;

    fn billed(list: &str) -> Vec<(String, u64)> {
        let list = MessageList::read(list, None).unwrap();
        let messages = list.messages().iter();
        let billed = messages.map(|message| message.billed(list.form()));
        billed.map(|billed| (billed.text, billed.media)).collect()
    }

    #[test]
    fn the_three_forms_bill_the_same_texts() {
        let chat = r#"[{"role":"user","content":"Rye?"},
            {"role":"assistant","content":"I look.","tool_calls":[
                {"id":"c1","type":"function","function":{"name":"stock","arguments":"{\"item\":\"rye\"}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"4 \"bags\"\n"}]"#;
        let anthropic = r#"[{"role":"user","content":"Rye?"},
            {"role":"assistant","content":[{"type":"text","text":"I look."},
                {"type":"tool_use","id":"c1","name":"stock","input":{"item":"rye"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"4 \"bags\"\n"}]}]"#;
        let responses = r#"[{"role":"user","content":"Rye?"},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
            {"type":"function_call","call_id":"c1","name":"stock","arguments":"{\"item\":\"rye\"}"},
            {"type":"function_call_output","call_id":"c1","output":"4 \"bags\"\n"}]"#;
        let texts = ["Rye?", "I look.\nstock\n{\"item\":\"rye\"}", "4 \"bags\"\n"];
        let expected = texts.map(|text| (text.to_owned(), 0));
        assert_eq!(billed(chat), expected);
        assert_eq!(billed(anthropic), expected);
        let items = billed(responses);
        assert_eq!(items[2].0, "stock\n{\"item\":\"rye\"}");
        assert_eq!((&items[0], &items[3]), (&expected[0], &expected[2]));
    }

    #[test]
    fn a_picture_is_billed_and_its_line_is_not() {
        let list = r#"[{"role":"user","content":[{"type":"text","text":"What is it?"},
            {"type":"image_url","image_url":{"url":"https://a.example/rye.png"}}]}]"#;
        assert_eq!(billed(list), [("What is it?".to_owned(), 765)]);
        let list = r#"[{"role":"user","content":[{"type":"text","text":"What is it?"},
            {"type":"image","source":{"type":"url","url":"https://a.example/rye.png"}}]}]"#;
        let (text, media) = billed(list).remove(0);
        assert_eq!(text.trim_end(), "What is it?");
        assert!(media > 1_000, "{media}");
    }
}
