//! Checks a conversation that is written as a list for a provider.

use accp_memory::{Form, MessageList, check, repair};
use accp_recordings::Format;

use accp_console::output;

/// Checks a document that is about to be written, by the rules of `accp context check`. Returns the text to write, or
/// the findings for which a provider would refuse it. With `mends`, the list is repaired first. A document in a
/// format that no provider accepts as a list is not checked.
pub(super) fn checked(
    text: String,
    format: Format,
    mends: bool,
    place: &str,
) -> Result<String, String> {
    let Some(form) = Form::named(format.name()) else {
        return Ok(text);
    };
    let mut list = MessageList::read(&text, Some(form)).map_err(|fault| fault.to_string())?;
    let mut text = text;
    if mends {
        let (mended, repairs) = repair(&list).map_err(|fault| fault.to_string())?;
        if !repairs.is_empty() {
            let count = repairs.len();
            output::note(format!(
                "{place}: mended calls, results and cut texts: {count}"
            ));
            text = mended.to_string();
            list = mended;
        }
    }
    let found = check(&list);
    let Some(first) = found.first() else {
        return Ok(text);
    };
    let more = match found.len() {
        1 => String::new(),
        all => format!(" (and {} more)", all - 1),
    };
    let cure = if mends {
        "mend the recording, or write another format"
    } else {
        "`--repair` mends calls, results and cut texts"
    };
    Err(format!(
        "{format} would refuse the list: {first}{more}; {cure}"
    ))
}
