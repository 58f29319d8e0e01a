// Speaks to an API with the packages `@anthropic-ai/sdk` and `openai` of Node: packages.js URL. It fails if an answer is not what it
// should be.
import assert from "node:assert";
import { createRequire } from "node:module";

const load = createRequire(`${process.cwd()}/package.json`);
const Anthropic = load("@anthropic-ai/sdk").default;
const OpenAI = load("openai").default;

const url = process.argv[2];
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const system = "You book tables. ".repeat(400);
const schema = { type: "object", properties: { page: { type: "string" } } };
const page = (number) =>
  JSON.stringify([...Array(30).keys()].map((n) => ({ slot: `K${n}-${number}`, day: `2031-06-${(n % 28) + 1}`, free: n % 3 === 0, note: null })));

async function claude() {
  const client = new Anthropic({ apiKey: "k1", baseURL: url, maxRetries: 0 });
  const common = { model: "claude-m", max_tokens: 2048, system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }] };
  const hello = [{ role: "user", content: "Hello" }];
  assert((await client.messages.create({ ...common, messages: hello })).content[0].text.startsWith("Noted"));
  const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } };
  await client.messages.create({ ...common, messages: [{ role: "user", content: [picture] }] });
  assert((await client.messages.countTokens({ model: "claude-m", messages: hello })).input_tokens > 0);
  for (const streams of [false, true])
    for (const thinking of [undefined, { type: "enabled", budget_tokens: 1024 }]) {
      const messages = [{ role: "user", content: `Which slots are free? ${streams} ${thinking?.type}` }];
      let turn = 0;
      for (; turn < 9; turn++) {
        const asked = { ...common, messages, tools: [{ name: "slots", input_schema: schema }], ...(thinking && { thinking }) };
        const answer = streams ? await client.messages.stream(asked).finalMessage() : await client.messages.create(asked);
        messages.push({ role: "assistant", content: answer.content });
        const calls = answer.content.filter((block) => block.type === "tool_use");
        if (!calls.length) break;
        messages.push({ role: "user", content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: page(turn) })) });
      }
      assert.equal(turn, 3);
    }
}

async function chat() {
  const client = new OpenAI({ apiKey: "k1", baseURL: `${url}/v1`, maxRetries: 0 });
  const tools = [{ type: "function", function: { name: "slots", parameters: schema } }];
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
  await client.chat.completions.create({ model: "gpt-m", messages: [{ role: "user", content: [image] }] });
  for (const streams of [false, true]) {
    const messages = [{ role: "system", content: system }, { role: "user", content: `Which slots are free? ${streams}` }];
    let turn = 0;
    for (; turn < 9; turn++) {
      const asked = { model: "gpt-m", messages, tools };
      const message = streams
        ? (await client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalChatCompletion()).choices[0].message
        : (await client.chat.completions.create(asked)).choices[0].message;
      const calls = message.tool_calls ?? [];
      if (!calls.length) break;
      messages.push({ role: "assistant", content: message.content, tool_calls: calls.map(({ id, type, function: { name, arguments: text } }) => ({ id, type, function: { name, arguments: text } })) });
      for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, content: page(turn) });
    }
    assert.equal(turn, 3);
  }
}

async function responses() {
  const client = new OpenAI({ apiKey: "k1", baseURL: `${url}/v1`, maxRetries: 0 });
  const tools = [{ type: "function", name: "slots", parameters: schema, strict: false }];
  for (const store of [false, true]) {
    let items = [{ role: "user", content: `Which slots are free? ${store}` }];
    let before;
    let turn = 0;
    for (; turn < 9; turn++) {
      const asked = { model: "gpt-m", instructions: system, input: items, tools, store, reasoning: { effort: "low" } };
      if (store && before) asked.previous_response_id = before;
      if (!store) asked.include = ["reasoning.encrypted_content"];
      const answer = turn % 2 ? await client.responses.stream(asked).finalResponse() : await client.responses.create(asked);
      before = answer.id;
      const calls = answer.output.filter((item) => item.type === "function_call");
      if (!calls.length) break;
      const results = calls.map((call) => ({ type: "function_call_output", call_id: call.call_id, output: page(turn) }));
      const said = answer.output.map(({ parsed_arguments, ...item }) => item);
      items = store ? results : [...items, ...said, ...results];
    }
    assert.equal(turn, 3);
  }
}

await claude();
await chat();
await responses();
