//! Faults in a request outside its messages, and faults of all messages together.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::make::{PNG, Row, image, mark, text, user};

/// The start of a PNG of 8,001 x 10 pixels.
const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAAH0EAAAAKCAYAAAA=";
/// The start of a PNG of 10 x 2,001 pixels.
pub(crate) const TALL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAfRCAYAAAA=";

/// A row for a request of these members and one message.
fn row(form: Form, members: Json, code: &'static str, mended: Option<Json>) -> Row {
    (
        form,
        request(form, members),
        code,
        None,
        mended.map(|members| request(form, members)),
    )
}

pub(crate) fn request(form: Form, members: Json) -> Json {
    let mut request = members;
    let key = match form {
        Form::Responses => "input",
        _ => "messages",
    };
    request[key] = json!([user("a")]);
    request
}

/// A function in the form of an API.
fn function(form: Form, name: &str, schema: &Json) -> Json {
    match form {
        Form::OpenAi => json!({ "type": "function",
            "function": { "name": name, "description": "b", "parameters": schema } }),
        Form::Anthropic => json!({ "name": name, "description": "b", "input_schema": schema }),
        Form::Responses => json!({ "type": "function", "name": name, "description": "b",
            "parameters": schema, "strict": false }),
    }
}

pub(crate) fn beside() -> Vec<Row> {
    [settings(), images(), tools()].concat()
}

fn settings() -> Vec<Row> {
    let form = Form::Anthropic;
    let thinking = |budget: u32| json!({ "type": "enabled", "budget_tokens": budget });
    let on = |key: &str, value: Json| {
        let mut members = json!({ "thinking": thinking(1024) });
        members[key] = value;
        row(form, members, "sampling", None)
    };
    let system = |blocks: Json| json!({ "system": blocks });
    let mut marked = text(" \n");
    marked["cache_control"] = mark(None);
    let document = |is_cited: Option<bool>| {
        let mut document = json!({ "type": "document", "source": { "type": "text", "data": "b", "media_type": "text/plain" } });
        if let Some(is_cited) = is_cited {
            document["citations"] = json!({ "enabled": is_cited });
        }
        document
    };
    let documents = |first: Option<bool>, second: Option<bool>| {
        let list = json!([
            user(json!([document(first)])),
            user(json!([document(second)]))
        ]);
        (form, list, "citations-mixed", Some(1), None)
    };
    vec![
        row(
            form,
            json!({ "thinking": thinking(1023), "max_tokens": 4096 }),
            "thinking-budget",
            None,
        ),
        row(
            form,
            json!({ "thinking": thinking(4096), "max_tokens": 4096, "tools": [] }),
            "thinking-budget",
            None,
        ),
        on("temperature", json!(0)),
        on("temperature", json!(0.99)),
        on("top_k", json!(5)),
        on("top_p", json!(0.9)),
        row(
            form,
            json!({ "thinking": { "type": "adaptive" }, "temperature": 0.5 }),
            "sampling",
            None,
        ),
        row(
            form,
            system(json!([text("b"), text(""), text("c"), marked])),
            "system-blank",
            Some(system(json!([text("b"), text("c")]))),
        ),
        row(
            form,
            system(json!([text(" ")])),
            "system-blank",
            Some(json!({})),
        ),
        documents(Some(true), None),
        documents(Some(false), Some(true)),
    ]
}

fn images() -> Vec<Row> {
    let form = Form::Anthropic;
    let with = |data: &str| json!([user(json!([text("a"), image("image/png", data)]))]);
    let many = |count: usize| {
        let mut images = vec![image("image/png", PNG); count - 1];
        images.push(image("image/png", TALL));
        json!([user("a"), user(images)])
    };
    let large = format!("{PNG}{}", "A".repeat(10 * 1024 * 1024));
    vec![
        (form, with(WIDE), "image-size", Some(0), None),
        (form, many(21), "image-size", Some(1), None),
        (form, with(&large), "image-size", Some(0), None),
    ]
}

fn tools() -> Vec<Row> {
    let schema = json!({ "type": "object", "properties": { "b": { "type": "number" }, "a": {} } });
    let mut rows = Vec::new();
    for form in Form::ALL {
        for other in Form::ALL.into_iter().filter(|other| *other != form) {
            rows.push(row(
                form,
                json!({ "tools": [function(form, "a", &schema), function(other, "b", &schema)] }),
                "tool-form",
                Some(
                    json!({ "tools": [function(form, "a", &schema), strict(form, other, "b", &schema)] }),
                ),
            ));
        }
        // This tool of another form has a member that a conversion would lose, so there is no cure.
        let other = match form {
            Form::Anthropic => Form::OpenAi,
            _ => Form::Anthropic,
        };
        let mut more = function(other, "b", &schema);
        more["cache_control"] = mark(None);
        rows.push(row(form, json!({ "tools": [more] }), "tool-form", None));
        rows.push(row(
            form,
            json!({ "tools": [function(form, "a", &schema)], "tool_choice": chosen(form, "b") }),
            "tool-choice",
            None,
        ));
        rows.push(row(
            form,
            json!({ "tool_choice": chosen(form, "b") }),
            "tool-choice",
            None,
        ));
    }
    let many: Vec<_> = (0..129)
        .map(|n| function(Form::OpenAi, &format!("t{n}"), &schema))
        .collect();
    let form = Form::Anthropic;
    let nothing = json!({ "type": "object", "properties": {} });
    rows.extend([
        row(Form::OpenAi, json!({ "tools": many }), "tools-over", None),
        row(
            Form::OpenAi,
            json!({ "tools": [{ "type": "custom", "name": "a" }] }),
            "tool-form",
            None,
        ),
        row(
            Form::Responses,
            json!({ "tools": [{ "type": "custom", "custom": { "name": "a" } }] }),
            "tool-form",
            None,
        ),
        row(
            form,
            json!({ "tools": [{ "name": "a" }] }),
            "tool-form",
            None,
        ),
        row(
            form,
            json!({ "tools": [{ "type": "function", "function": { "name": "a" } }] }),
            "tool-form",
            Some(json!({ "tools": [{ "name": "a", "input_schema": nothing }] })),
        ),
    ]);
    for kind in ["any", "tool"] {
        let members = json!({ "tools": [function(form, "a", &schema)],
            "tool_choice": { "type": kind, "name": "a" },
            "thinking": { "type": "enabled", "budget_tokens": 1024 } });
        rows.push(row(form, members, "tool-choice", None));
    }
    rows
}

/// A function that comes from another form, and so may say whether it is strict.
fn strict(form: Form, other: Form, name: &str, schema: &Json) -> Json {
    let mut tool = function(form, name, schema);
    match (form, other) {
        (Form::OpenAi, Form::Responses) => tool["function"]["strict"] = false.into(),
        (Form::Anthropic, Form::Responses) => tool["strict"] = false.into(),
        _ => {}
    }
    tool
}

pub(crate) fn chosen(form: Form, name: &str) -> Json {
    match form {
        Form::OpenAi => json!({ "type": "function", "function": { "name": name } }),
        Form::Anthropic => json!({ "type": "tool", "name": name }),
        Form::Responses => json!({ "type": "function", "name": name }),
    }
}

/// Requests that a provider takes, or may take: no rule refuses them.
pub(crate) fn taken() -> Vec<(Form, Json)> {
    let thinking = json!({ "type": "enabled", "budget_tokens": 4096 });
    let own = |form| function(form, "a", &json!({ "type": "object" }));
    let with = |form: Form, more: Json| {
        let mut members =
            json!({ "tools": [own(form), more], "tool_choice": chosen(form, "from_elsewhere") });
        if members["tools"][1].is_null() {
            members["tools"] = json!([own(form)]);
        }
        members
    };
    let anthropic = [
        json!({ "thinking": thinking, "max_tokens": 4097, "temperature": 1.0, "top_p": 0.95, "top_k": null,
            "tools": [own(Form::Anthropic)], "tool_choice": { "type": "auto" } }),
        // With tools, the thinking budget may be larger than `max_tokens`: it may span several
        // answers between tool calls.
        json!({ "thinking": thinking, "max_tokens": 2048, "tools": [own(Form::Anthropic)] }),
        json!({ "thinking": { "type": "new_way", "budget_tokens": 1 }, "temperature": 0 }),
        json!({ "thinking": { "type": "disabled" }, "temperature": 0, "top_k": 5, "top_p": 0.1 }),
        json!({ "thinking": { "type": "adaptive" }, "tools": [own(Form::Anthropic)], "tool_choice": { "type": "any" } }),
        json!({ "system": "" }),
        json!({ "tools": [{ "type": "new_tool_20300101", "name": "new" }], "tool_choice": { "type": "tool", "name": "new" } }),
        json!({ "tools": [{ "type": "custom", "name": "a", "input_schema": {} }], "tool_choice": chosen(Form::Anthropic, "a") }),
        with(
            Form::Anthropic,
            json!({ "type": "mcp_toolset", "mcp_server_name": "s" }),
        ),
        with(
            Form::Anthropic,
            json!({ "type": "computer_toolset_20260801" }),
        ),
    ];
    let chat = [
        with(Form::OpenAi, json!({ "type": "new_kind", "name": "b" })),
        json!({ "tools": [{ "type": "custom", "custom": { "name": "b" } }],
            "tool_choice": { "type": "custom", "custom": { "name": "b" } } }),
        json!({ "tools": [own(Form::OpenAi)], "tool_choice": "required" }),
        json!({ "tools": [own(Form::OpenAi)], "tool_choice": { "type": "new_choice", "name": "b" } }),
    ];
    let mut prompted = with(Form::Responses, Json::Null);
    prompted["prompt"] = json!({ "id": "p" });
    let mut kept = with(Form::Responses, Json::Null);
    kept["previous_response_id"] = "r".into();
    let responses = [
        prompted,
        kept,
        with(
            Form::Responses,
            json!({ "type": "namespace", "name": "n", "tools": [] }),
        ),
        json!({ "tools": [{ "type": "web_search" }, { "type": "custom", "name": "b" }], "tool_choice": { "type": "web_search" } }),
    ];
    let mut all = Vec::new();
    for (form, bodies) in [
        (Form::Anthropic, &anthropic[..]),
        (Form::OpenAi, &chat[..]),
        (Form::Responses, &responses[..]),
    ] {
        let bodies = bodies.iter().cloned();
        all.extend(bodies.map(|members| (form, request(form, members))));
    }
    let mut added = with(Form::Responses, Json::Null);
    added["input"] = json!([{ "type": "additional_tools", "role": "developer",
        "tools": [function(Form::Responses, "from_elsewhere", &json!({}))] }, user("a")]);
    all.push((Form::Responses, added));
    let tall = image("image/png", TALL);
    all.push((Form::Anthropic, json!([user(vec![tall; 20])])));
    let unseen =
        json!({ "type": "image", "source": { "type": "url", "url": "https://a.example/b.png" } });
    all.push((Form::Anthropic, json!([user(vec![unseen; 21])])));
    all
}
