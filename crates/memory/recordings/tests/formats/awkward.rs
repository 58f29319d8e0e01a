//! Logs as programs write them: wrapped in requests and answers, streamed, one message a line, in the
//! forms of exporters.

use accp_recordings::{Conversation, Format, NotConversation};
use serde_json::{Value as Json, json};

use super::{samples, told};

/// Recordings in the forms of programs.
pub(super) const AWKWARD: [(&str, Format, &str); 17] = samples![
    "otel_flat.json" Otel,
    "otel_typed.json" Otel,
    "otel_tools.json" Otel,
    "otel_jaeger.json" Otel,
    "wrapped_openai.json" OpenAi,
    "wrapped_openai_stream.json" OpenAi,
    "wrapped_anthropic.json" Anthropic,
    "wrapped_anthropic_stream.json" Anthropic,
    "wrapped_responses.json" Responses,
    "wrapped_gemini.json" Gemini,
    "wrapped_langchain.json" LangChain,
    "odd_langsmith_providers.json" LangSmith,
    "odd_sharegpt_roles.json" ShareGpt,
    "odd_gemini_words.json" Gemini,
    "odd_claude_code.jsonl" ClaudeCode,
    "lines_openai.jsonl" OpenAi,
    "lines_responses.jsonl" Responses,
];

#[test]
fn what_programs_write_is_read() {
    insta::assert_snapshot!(super::shown(&AWKWARD), @r#"
    otel_flat.json
      system: "You keep the stock."
      user: "hello rye"
      tool: answers c0 "47"
      assistant: "Look." c1=stock({"flour":"rye"})
    otel_typed.json
      system: "You keep."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "hm" c1=stock({"flour":"rye"})
      tool: answers c1 "47"
      tool: answers c2 "{\"a\":[\"1\"]}"
      assistant: "47 kilos." "[image image/png, 4 characters of base64]" "{\"type\":\"server_tool_call\",\"id\":\"x\",\"name\":\"web\",\"server_tool_call\":{\"type\":\"w\",\"q\":\"r\"}}" "[image https://x]"
    otel_tools.json
      system: "Sys."
      system: "You keep."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "hm" c1=stock({"flour":"rye"})
      tool: answers c1 "47"
      tool: answers c2 "{\"a\":[1]}"
      assistant: "47 kilos." "[image image/png, 4 characters of base64]" "{\"type\":\"server_tool_call\",\"id\":\"x\",\"name\":\"web\",\"server_tool_call\":{\"type\":\"w\",\"q\":\"r\"}}" "[image https://x]"
      assistant: c3=stock({"flour":"spelt"})
      tool: answers c3 "a new result of the stock"
    otel_jaeger.json
      system: "You keep."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "hm" c1=stock({"flour":"rye"})
      tool: answers c1 "47"
      tool: answers c2 "{\"a\":[1]}"
      assistant: "[image image/png, 4 characters of base64]" "[image https://example.org/a.png]"
    wrapped_openai.json
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: call_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers call_1 "{\"kilo\": 47}"
      assistant: "There are 47 kilos."
    wrapped_openai_stream.json
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: call_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers call_1 "{\"kilo\": 47}"
      assistant: "There are 47" c9=stock({"flour":"spelt"})
    wrapped_anthropic.json
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "Look at B/12." "I look." toolu_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers toolu_1 "no such shelf" "[image image/png, 12 characters of base64]"
      user: "Go on."
      assistant: "47 kilos." toolu_2=stock({})
    wrapped_anthropic_stream.json
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "Look at B/12." "I look." toolu_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers toolu_1 "no such shelf" "[image image/png, 12 characters of base64]"
      user: "Go on."
      assistant: "47" t2=stock({"flour":"spelt"})
    wrapped_responses.json
      system: "You keep."
      developer: "Be brief."
      user: "How much rye is on shelf B/12 of the store?" "[image image/png, 4 characters of base64]"
      assistant: "Look." call_1=stock({"flour":"rye"})
      tool: answers call_1 "47" "[image https://x]" "[file file f]"
      assistant: call_2=computer({"type":"screenshot"})
      tool: answers call_2 "{\"type\":\"computer_screenshot\",\"image_url\":\"data:image/png;base64,BBBB\"}" "{\"acknowledged_safety_checks\":[{\"id\":\"s\",\"code\":\"c\",\"message\":\"m\"}]}"
      assistant: "{\"type\":\"file_search_call\",\"id\":\"fs\",\"status\":\"completed\",\"queries\":[\"rye\"],\"results\":[{\"file_id\":\"f\",\"text\":\"rye text\"}]}" "{\"type\":\"code_interpreter_call\",\"id\":\"ci\",\"code\":\"print(1)\",\"container_id\":\"c\",\"outputs\":[{\"type\":\"logs\",\"logs\":\"1\"}],\"status\":\"completed\"}" call_3=local_shell({"type":"exec","command":["ls"],"env":{}})
      tool: answers call_3 "a.txt"
      assistant: call_5=shell({"commands":["ls -l"],"timeout_ms":1000})
      tool: answers call_5 "[{\"stdout\":\"total 0\",\"stderr\":\"\",\"outcome\":{\"type\":\"exit\",\"exit_code\":0}}]" "{\"max_output_length\":4096}"
      assistant: call_6=apply_patch({"type":"update_file","path":"a.py","diff":"@@\n-a\n+b"})
      tool: answers call_6 "ok"
      assistant: "{\"type\":\"mcp_call\",\"id\":\"mcp\",\"name\":\"roll\",\"server_label\":\"dice\",\"arguments\":\"{\\\"d\\\":4}\",\"output\":\"4\",\"error\":null,\"approval_request_id\":null}" "{\"type\":\"mcp_approval_request\",\"id\":\"ma\",\"name\":\"roll\",\"arguments\":\"{}\",\"server_label\":\"dice\"}" "{\"type\":\"mcp_approval_response\",\"approval_request_id\":\"ma\",\"approve\":true}" "{\"type\":\"image_generation_call\",\"id\":\"ig\",\"status\":\"completed\",\"result\":\"iVBORw0KGgo=\",\"revised_prompt\":\"a loaf\"}" call_4=exec(Some(String("print('x')")))
      tool: answers call_4 "x"
      assistant: "{\"type\":\"compaction\",\"id\":\"cm\",\"encrypted_content\":\"zzz\"}" "47 kilos."
      assistant: "Done."
    wrapped_gemini.json
      system: "You keep."
      user: "How much rye is on shelf B/12 of the store?" "[image image/png, 12 characters of base64]" "[image image/png, 12 characters of base64]" "[file gs://x]"
      assistant: "Thinking." "{\"executable_code\":{\"language\":\"PYTHON\",\"code\":\"print(1)\"}}" "{\"code_execution_result\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"1\"}}" f1=stock({"flour":"rye"})
      tool: answers f1 "{\"result\":{\"kilo\":47}}"
      tool: "{\"output\":\"x\",\"error\":\"e\"}" "[image image/png, 4 characters of base64]"
      user: "Go on."
      assistant: "47 kilos."
    wrapped_langchain.json
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "" "{\"error\":\"bad\"}" c2=stock(Some(String("{bro"))) c1=stock({"flour":"rye"})
      tool: answers c1 "47"
      assistant: "47"
      tool: "x"
      critic: "bad"
      assistant: ""
    odd_langsmith_providers.json
      system: "You keep."
      user: "How much rye is on shelf B/12 of the store?" "[image image/png, 4 characters of base64]"
      assistant: "Look." call_1=stock({"flour":"rye"})
      assistant: "Done."
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "Look at B/12." "I look." toolu_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers toolu_1 "no such shelf" "[image image/png, 12 characters of base64]"
      user: "Go on."
      assistant: "47 kilos." toolu_2=stock({})
      assistant: "There are 47 kilos."
    odd_sharegpt_roles.json
      user: "Is there rye?"
      assistant: "Yes."
    odd_gemini_words.json
      system: "You keep."
      user: "hello rye"
      user: "more"
      assistant: "47"
      assistant:
    odd_claude_code.jsonl
      user: "How much rye is on shelf B/12 of the store?"
      assistant: "Look." toolu_1=Bash({"command":"ls"})
      tool: answers toolu_1 "a.txt\nb.txt"
      user: "This session is being continued: rye summary"
      user: "{\"type\":\"file\",\"content\":\"file text\"}"
      assistant: "Done."
    lines_openai.jsonl
      system: "You keep the stock."
      user: "How much rye is on shelf B/12 of the store?"
      assistant: call_1=stock({"flour":"rye","shelf":"B/12"})
      tool: answers call_1 "{\"kilo\": 47}"
      assistant: "There are 47 kilos of rye on shelf B/12."
    lines_responses.jsonl
      developer: "Be brief."
      user: "How much rye is on shelf B/12 of the store?" "[image image/png, 4 characters of base64]"
      assistant: "Look." call_1=stock({"flour":"rye"})
      tool: answers call_1 "47" "[image https://x]" "[file file f]"
      assistant: call_2=computer({"type":"screenshot"})
      tool: answers call_2 "{\"type\":\"computer_screenshot\",\"image_url\":\"data:image/png;base64,BBBB\"}" "{\"acknowledged_safety_checks\":[{\"id\":\"s\",\"code\":\"c\",\"message\":\"m\"}]}"
      assistant: "{\"type\":\"file_search_call\",\"id\":\"fs\",\"status\":\"completed\",\"queries\":[\"rye\"],\"results\":[{\"file_id\":\"f\",\"text\":\"rye text\"}]}"
    "#);
}

fn read(json: Json) -> Vec<String> {
    told(&Conversation::new(json).unwrap())
}

/// An answer that stands outside the messages is read as their last message.
#[test]
fn an_answer_beside_the_messages_is_a_message() {
    let user = json!({ "role": "user", "content": "Is there rye?" });
    let answer = json!({ "role": "assistant", "content": "Four bags." });
    let expected = ["user: \"Is there rye?\"", "assistant: \"Four bags.\""];
    let choices = json!({ "choices": [{ "message": answer }] });
    for document in [
        json!({ "messages": [user], "output": answer }),
        json!({ "messages": [user], "response": choices }),
        json!({ "messages": [user, answer], "response": choices }),
        json!({ "input": [user], "output": answer }),
        json!({ "input": { "messages": [user] }, "output": "Four bags." }),
        json!({ "prompt": [user], "completion": [answer] }),
        json!({ "request_body": { "messages": [user] }, "response_body": choices }),
        json!({ "input": { "messages": [user] }, "output": { "messages": [user, answer] } }),
    ] {
        assert_eq!(read(document.clone()), expected, "{document}");
    }
    // An `output` that is a label of a data set is not an answer.
    let labelled = json!({ "messages": [user], "output": "passed" });
    assert_eq!(read(labelled), [expected[0]]);
}

/// An answer that no reader understands is shown whole.
#[test]
fn an_answer_that_nobody_understands_is_shown() {
    let document = json!({
        "request": { "messages": [{ "role": "user", "content": "Is there rye?" }] },
        "response": { "error": { "code": 529 } },
    });
    insta::assert_snapshot!(read(document).join("\n"), @r#"
    user: "Is there rye?"
    assistant: "{\"error\":{\"code\":529}}"
    "#);
}

#[test]
fn what_holds_no_conversation_says_what_can_be_done() {
    let refused = |json: Json| match Conversation::new(json).unwrap_err() {
        NotConversation::Messages(found) => found,
        other => panic!("{other}"),
    };
    let user = json!({ "role": "user", "content": "Is there rye?" });
    insta::assert_snapshot!(refused(json!({ "chosen": [user], "rejected": [user] })), @"an object with `chosen`, `rejected`; a conversation stands at `/chosen`: give that value alone, or under `messages`");
    insta::assert_snapshot!(refused(json!([{ "a": 1 }, { "b": { "messages": [user] } }])), @"an array; a conversation stands at `/1/b`: give that value alone, or under `messages`");
    let delta = json!({ "choices": [{ "delta": { "content": "Four" } }] });
    insta::assert_snapshot!(refused(delta), @r#"a piece of a streamed answer; record the whole answer, or all pieces in an array beside the request: {"request": .., "response": [..]}"#);
}

/// A proxy may log a request in the format of one provider, and the answer in the format of another.
#[test]
fn an_answer_may_have_another_format_than_its_request() {
    let requests = [
        json!({ "messages": [{ "role": "user", "content": "How much rye?" }] }),
        json!({ "messages": [{ "type": "human", "content": "How much rye?" }] }),
    ];
    let answers = [
        json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Four." }] } }] }),
        json!({ "output": [
            { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "Look." }] },
            { "type": "message", "role": "assistant",
              "content": [{ "type": "output_text", "text": "Four." }] }] }),
        json!({ "type": "message", "role": "assistant", "content": [
            { "type": "text", "text": "Four." }, { "type": "new", "url": "https://b/12" }] }),
    ];
    for request in &requests {
        for answer in &answers {
            let log = json!({ "request": request, "response": answer });
            let conversation = Conversation::new(log).unwrap();
            let told = told(&conversation).join("\n");
            assert!(told.contains("How much rye?"), "{told}");
            assert!(told.contains("Four."), "{told}");
            let content = conversation.content();
            let shown = (0..conversation.messages().len()).map(|index| content.of_message(index));
            assert_eq!(shown.sum::<u64>(), content.bytes(), "{told}");
        }
    }
}

/// The keys of a flat message are names. A message whose keys are all numbers is not a list of parts.
#[test]
fn a_flat_message_of_numbers_stays_a_message() {
    let span = json!({ "name": "chat", "attributes": {
        "gen_ai.prompt.0.0": "rye", "gen_ai.prompt.0.1": "spelt" } });
    let conversation = Conversation::new(span).unwrap();
    assert!(
        told(&conversation)[0].starts_with("user: "),
        "{:?}",
        told(&conversation)
    );
    assert_eq!(conversation.content().of_message(0), 8);
}
