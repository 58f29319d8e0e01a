//! Pictures, documents and sounds in lists: how many tokens they count as, when they leave, and that they come back.

use accp_memory::disk::Context;
use accp_memory::{Finding, Form, MessageList, Options, SessionId, Tier, Window, check};
use accp_tokens::{Bpe, Detail, MediaPrices, Medium, TokenCounter as _};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

/// A kind of picture.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Png,
    Jpeg,
    Gif,
    WebP,
}

/// Returns a picture of this size: its header, and `behind` bytes after it.
fn picture(kind: Kind, width: u16, height: u16, behind: usize) -> Vec<u8> {
    let (w, h) = (u32::from(width), u32::from(height));
    let mut out = match kind {
        Kind::Png => {
            let mut out = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
            out.extend([w.to_be_bytes(), h.to_be_bytes()].concat());
            out.extend(b"\x08\x06\0\0\0\0\0\0\0");
            out
        }
        Kind::Jpeg => {
            // Cameras write long metadata before the size.
            let mut out = b"\xff\xd8\xff\xe1\x20\x02Exif\0\0".to_vec();
            out.extend(vec![0x2a; 0x2000 - 6]);
            out.extend(b"\xff\xc0\0\x11\x08");
            out.extend([height.to_be_bytes(), width.to_be_bytes()].concat());
            out.extend(b"\x03\x01\x22\0\x02\x11\x01\x03\x11\x01");
            out
        }
        Kind::Gif => {
            let mut out = b"GIF89a".to_vec();
            out.extend([width.to_le_bytes(), height.to_le_bytes()].concat());
            out.extend(b"\0\0\0");
            out
        }
        Kind::WebP => {
            let mut out = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0".to_vec();
            out.extend(&(w - 1).to_le_bytes()[..3]);
            out.extend(&(h - 1).to_le_bytes()[..3]);
            out
        }
    };
    out.extend((0..behind).map(|at| (at * 31 % 251) as u8));
    out
}

const KINDS: [(Kind, &str); 4] = [
    (Kind::Png, "image/png"),
    (Kind::Jpeg, "image/jpeg"),
    (Kind::Gif, "image/gif"),
    (Kind::WebP, "image/webp"),
];

/// Returns a part with a picture.
fn part(form: Form, mime: &str, bytes: &[u8]) -> Json {
    let data = STANDARD.encode(bytes);
    let url = format!("data:{mime};base64,{data}");
    match form {
        Form::OpenAi => json!({ "type": "image_url", "image_url": { "url": url } }),
        Form::Anthropic => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": mime, "data": data } })
        }
        Form::Responses => json!({ "type": "input_image", "image_url": url }),
    }
}

fn text(form: Form, text: &str) -> Json {
    let kind = if form == Form::Responses {
        "input_text"
    } else {
        "text"
    };
    json!({ "type": kind, "text": text })
}

/// Returns a call and its result with these parts.
fn used(form: Form, id: &str, parts: &Json) -> Vec<Json> {
    match form {
        Form::OpenAi => vec![
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": id, "type": "function", "function": { "name": "screen", "arguments": "{}" } }] }),
            json!({ "role": "tool", "tool_call_id": id, "content": parts }),
        ],
        Form::Anthropic => vec![
            json!({ "role": "assistant", "content": [
                { "type": "tool_use", "id": id, "name": "screen", "input": {} }] }),
            json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": id, "content": parts }] }),
        ],
        Form::Responses => vec![
            json!({ "type": "function_call", "call_id": id, "name": "screen", "arguments": "{}" }),
            json!({ "type": "function_call_output", "call_id": id, "output": parts }),
        ],
    }
}

/// Where a picture stands.
#[derive(Debug, Clone, Copy)]
enum Where {
    User,
    Result,
    /// The screenshot of a computer. Forms other than Responses have it in a result.
    Screen,
}

fn list(form: Form, at: Where, part: &Json) -> MessageList {
    let mut all = vec![json!({ "role": "user", "content": "What is this?" })];
    match at {
        Where::User => {
            all = vec![json!({ "role": "user", "content": [text(form, "What is this?"), part] })];
        }
        Where::Screen if form == Form::Responses => all.extend([
            json!({ "type": "computer_call", "call_id": "c1", "id": "i1", "status": "completed",
                "pending_safety_checks": [], "action": { "type": "screenshot" } }),
            json!({ "type": "computer_call_output", "call_id": "c1",
                "output": { "type": "computer_screenshot", "image_url": part["image_url"] } }),
        ]),
        Where::Result | Where::Screen => {
            all.extend(used(form, "c1", &json!([text(form, "done"), part])));
        }
    }
    MessageList::read(&Json::from(all).to_string(), Some(form)).unwrap()
}

fn counted(list: &MessageList) -> u64 {
    Window::of(200_000).unwrap().count(list, &Bpe::o200k_base())
}

#[test]
fn an_address_with_bytes_is_read_however_it_is_spelt() {
    let data = STANDARD.encode(picture(Kind::Jpeg, 1_200, 800, 40_000));
    let escaped = data.replace('+', "%2B").replace('/', "%2f");
    let count = |url: &str| {
        let image = json!({ "type": "image_url", "image_url": { "url": url } });
        let all = json!([{ "role": "user", "content": [image] }]);
        counted(&MessageList::read(&all.to_string(), Some(Form::OpenAi)).unwrap())
    };
    let usual = count(&format!("data:image/jpeg;base64,{data}"));
    // The size of a picture at another address is unknown, so its token count differs.
    assert_ne!(usual, count("https://a.example/rye.jpg"));
    for url in [
        format!("DATA:image/jpeg;BASE64,{data}"),
        format!(" data:image/jpeg;base64,{data}\n"),
        format!("data:image/jpeg;charset=utf-8;base64,{data}"),
        format!("data:image/jpeg;name=a,b.jpg;base64,{data}"),
        format!("data:image/jpeg;base64,{escaped}"),
    ] {
        assert_eq!(count(&url), usual, "{}", &url[..40]);
    }
}

fn json_of(list: &MessageList) -> Json {
    serde_json::from_str(&list.to_string()).unwrap()
}

/// Returns the faults of a list without the warnings. The list has pictures in the results of chat, which is only a
/// warning: the provider refuses them, but self-hosted servers take them.
fn broken(list: &MessageList) -> Vec<Finding> {
    let mut found = check(list);
    found.retain(|finding| !finding.code.is_warning());
    found
}

/// Compresses a list in a root of its own, and checks that the conversation comes back equal.
fn compressed(list: &MessageList, size: u64) -> (accp_memory::disk::Compressed, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    let window = Window::of(size).unwrap();
    let counter = Bpe::o200k_base();
    let mut context = Context::open(root.path(), SessionId::new("s").unwrap()).unwrap();
    let options = Options::new(&window, &counter, OffsetDateTime::UNIX_EPOCH);
    let done = context.compress(list, &options, &mut ()).unwrap();
    assert_eq!(broken(&done.list), []);
    assert_eq!(window.count(&done.list, &counter), done.after);
    assert!(done.after <= window.room());
    drop(context);
    let context = Context::open_existing(root.path(), SessionId::new("s").unwrap()).unwrap();
    let restored = context.session().unwrap().restored().unwrap();
    assert_eq!(json_of(&restored), json_of(list));
    let used = context.session().unwrap().usage().unwrap();
    assert_eq!(
        (used.tokens, &*used.counted_with),
        (done.after, "o200k_base")
    );
    (done, root)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a_picture_counts_by_its_pixels_wherever_it_stands(
        form in prop::sample::select(Form::ALL.to_vec()),
        at in prop::sample::select(vec![Where::User, Where::Result, Where::Screen]),
        kind in prop::sample::select(KINDS.to_vec()),
        size in (1..5_000_u16, 1..5_000_u16),
        behind in prop_oneof![0..200_usize, 20_000..60_000_usize],
    ) {
        let (kind, mime) = kind;
        let (width, height) = size;
        let whole = list(form, at, &part(form, mime, &picture(kind, width, height, behind)));
        prop_assert_eq!(broken(&whole), []);
        let none = list(form, at, &part(form, mime, b""));
        let detail = Detail::Auto;
        let prices = match form {
            Form::Anthropic => MediaPrices::anthropic(),
            _ => MediaPrices::openai(),
        };
        let cost = |pixels| prices.tokens(&Medium::Image { pixels, detail });
        prop_assert_eq!(
            counted(&whole) - cost(Some((width.into(), height.into()))),
            counted(&none) - cost(None)
        );
        prop_assert!(counted(&whole) < 1_800);
        // The list fits the window, so compression changes nothing.
        let (done, _root) = compressed(&whole, 8_000);
        prop_assert!(done.events.is_empty());
        prop_assert_eq!(done.list.to_string(), whole.to_string());
    }

    #[test]
    fn whatever_leaves_comes_back(
        form in prop::sample::select(Form::ALL.to_vec()),
        shots in prop::collection::vec((200..2_600_u16, 200..1_700_u16, 0..400_usize), 4..16),
    ) {
        let mut all = vec![json!({ "role": "user", "content": "Book the flight." })];
        for (at, (width, height, words)) in shots.iter().enumerate() {
            let (kind, mime) = KINDS[at % 4];
            let image = part(form, mime, &picture(kind, *width, *height, 3_000));
            let said = text(form, &format!("step {at} {}", "rye ".repeat(*words)));
            all.extend(used(form, &format!("c{at}"), &json!([said, image])));
        }
        let whole = MessageList::read(&Json::from(all).to_string(), Some(form)).unwrap();
        let (done, _root) = compressed(&whole, 8_000);
        // The newest picture stays.
        let (w, h, _) = shots.last().unwrap();
        let (kind, mime) = KINDS[(shots.len() - 1) % 4];
        let newest = part(form, mime, &picture(kind, *w, *h, 3_000)).to_string();
        prop_assert!(done.list.to_string().contains(&newest));
    }
}

/// Returns a conversation with this many screenshots of 1,280 x 800 pixels.
fn screenshots(form: Form, many: usize) -> MessageList {
    let mut all = vec![json!({ "role": "user", "content": "Book the flight." })];
    for at in 0..many {
        let image = part(form, "image/png", &picture(Kind::Png, 1_280, 800, 30_000));
        all.extend(used(
            form,
            &format!("c{at}"),
            &json!([text(form, "clicked"), image]),
        ));
    }
    MessageList::read(&Json::from(all).to_string(), Some(form)).unwrap()
}

#[test]
fn old_screenshots_leave_first_with_a_line_that_says_what_they_were() {
    for form in Form::ALL {
        let whole = screenshots(form, 20);
        let size = counted(&whole) * 100 / 80;
        let (done, _root) = compressed(&whole, size);
        assert_eq!(
            done.events
                .iter()
                .map(|event| event.tier)
                .collect::<Vec<_>>(),
            [Tier::One],
            "{form}"
        );
        let has = |at: usize| {
            let text = done.list.messages()[at].raw();
            text.contains("iVBORw0KGgo")
        };
        // The picture of each step is in the message after its call.
        let stays: Vec<_> = (0..20).map(|step| has(2 + 2 * step)).collect();
        assert!(
            stays.is_sorted() && !stays[0] && stays[10],
            "{form}: {stays:?}"
        );
        let line = "[image image/png, 1280 x 800 pixels, 31 KB; left this list; \
                    `accp context restore --session s --message 2` gives it]";
        assert!(
            done.list.messages()[2].raw().contains(line),
            "{}",
            done.list.messages()[2].raw()
        );
        assert!(done.list.messages()[2].raw().contains("clicked"));
    }
}

#[test]
fn a_list_whose_pictures_fit_keeps_them_while_long_results_leave() {
    let form = Form::Anthropic;
    let image = part(form, "image/png", &picture(Kind::Png, 1_000, 1_000, 40_000));
    let rows: Vec<_> = (1..=900)
        .map(|row| format!("row {row}: {row} bags of rye"))
        .collect();
    let mut all = vec![json!({ "role": "user", "content": "Read the page." })];
    all.extend(used(
        form,
        "c1",
        &json!([text(form, &rows.join("\n")), image]),
    ));
    all.push(json!({ "role": "assistant", "content": "It lists bags." }));
    all.push(json!({ "role": "user", "content": "Thank you." }));
    let whole = MessageList::read(&Json::from(all).to_string(), Some(form)).unwrap();
    let (done, _root) = compressed(&whole, 14_000);
    assert_eq!(done.events.len(), 1, "{:?}", done.events);
    let result = &done.list.messages()[2].json()["content"][0]["content"];
    let reference = result[0]["text"].as_str().unwrap();
    assert!(
        reference.starts_with("## Offloaded Content Reference"),
        "{reference}"
    );
    assert_eq!(result[1], image);
    // A new count of the compressed list gives the same number of tokens.
    let again = Window::of(14_000).unwrap();
    assert_eq!(again.count(&done.list, &Bpe::o200k_base()), done.after);
}

#[test]
fn documents_sounds_and_what_is_elsewhere_count_by_stated_constants() {
    let pdf = STANDARD.encode(format!(
        "%PDF-1.4 <</Type/Page>> <</Type/Page>> {}",
        "x".repeat(90_000)
    ));
    let mut wav =
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data"
            .to_vec();
    wav.extend(64_000_u32.to_le_bytes());
    wav.extend(vec![0; 64_000]);
    let wav = STANDARD.encode(wav);
    let url = format!("https://a.example/{}", "signed".repeat(2_000));
    let cases = [
        (
            Form::Anthropic,
            json!({ "type": "document", "source": { "type": "base64", "media_type": "application/pdf", "data": pdf } }),
            6_000,
        ),
        (
            Form::Anthropic,
            json!({ "type": "document", "source": { "type": "url", "url": url } }),
            30_000,
        ),
        (
            Form::Anthropic,
            json!({ "type": "image", "source": { "type": "file", "file_id": "file_1" } }),
            1_399,
        ),
        (
            Form::OpenAi,
            json!({ "type": "image_url", "image_url": { "url": url } }),
            765,
        ),
        (
            Form::OpenAi,
            json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } }),
            85,
        ),
        (
            Form::OpenAi,
            json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": format!("data:application/pdf;base64,{pdf}") } }),
            3_000,
        ),
        (
            Form::OpenAi,
            json!({ "type": "input_audio", "input_audio": { "data": wav, "format": "wav" } }),
            20,
        ),
        (
            Form::Responses,
            json!({ "type": "input_file", "file_id": "file_1" }),
            15_000,
        ),
        (
            Form::Responses,
            json!({ "type": "input_image", "file_id": "file_1" }),
            765,
        ),
        (
            Form::Responses,
            json!({ "type": "input_file", "filename": "a.txt", "file_data": format!("data:text/plain;base64,{}", STANDARD.encode("rye ".repeat(100))) }),
            100,
        ),
    ];
    for (form, part, tokens) in cases {
        let counted = counted(&list(form, Where::User, &part));
        assert!(
            (tokens + 10..tokens + 90).contains(&counted),
            "{part}: {counted}"
        );
    }
}

#[test]
fn base64_in_a_text_of_a_tool_counts_as_text_and_its_preview_says_what_it_is() {
    let base64 = STANDARD.encode(picture(Kind::Jpeg, 800, 600, 300_000));
    let mut all = vec![json!({ "role": "user", "content": "Take a picture." })];
    all.extend(used(
        Form::OpenAi,
        "c1",
        &json!(format!("{{\"screen\": \"{base64}\"}}")),
    ));
    let whole = MessageList::read(&Json::from(all).to_string(), Some(Form::OpenAi)).unwrap();
    assert!(counted(&whole) > Bpe::o200k_base().count(&base64) as u64);
    let (done, _root) = compressed(&whole, 1_000_000);
    let result = done.list.messages()[2].json()["content"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        result.contains("> {\"screen\": \"[base64 of a JPEG, 309 KB]\"}"),
        "{result}"
    );
}

#[test]
fn a_summary_says_which_pictures_went_with_the_turns() {
    for form in Form::ALL {
        let image = part(form, "image/gif", &picture(Kind::Gif, 640, 480, 9_000));
        let mut all =
            vec![json!({ "role": "user", "content": [text(form, "Is this rye?"), image] })];
        for at in 0..60 {
            let said = format!(
                "Field {at} has {} sheaves of rye, and the owner is called farmer {at}.",
                at * 7
            )
            .repeat(4);
            all.push(json!({ "role": "assistant", "content": said }));
            all.push(json!({ "role": "user", "content": format!("And field {}?", at + 1) }));
        }
        let whole = MessageList::read(&Json::from(all).to_string(), Some(form)).unwrap();
        let (done, _root) = compressed(&whole, counted(&whole) * 10 / 9);
        assert!(
            done.events.iter().any(|event| event.tier == Tier::Three),
            "{form}"
        );
        let line = "[image image/gif, 640 x 480 pixels, 10 KB; `accp context restore --session s --message 0` gives it]";
        assert!(
            done.list.to_string().contains(line),
            "{form}: {}",
            done.list
        );
    }
}
