// Speaks to an API with the AI SDK: frameworks.js URL. It fails if an answer is not what it should be.
import assert from "node:assert";
import { pathToFileURL } from "node:url";
import { createRequire } from "node:module";

const { resolve } = createRequire(`${process.cwd()}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)));
const { generateText, streamText, tool, stepCountIs } = await load("ai");
const { createAnthropic } = await load("@ai-sdk/anthropic");
const { createOpenAI } = await load("@ai-sdk/openai");
const { z } = await load("zod");

const url = process.argv[2];
const system = "You book tables. ".repeat(400);
const rows = (page) => [...Array(30).keys()].map((n) => ({ slot: `K${n}-${page}`, day: `2031-06-${(n % 28) + 1}`, free: n % 3 === 0, note: null }));
const slots = tool({
  description: "Lists slots.",
  inputSchema: z.object({ page: z.string() }),
  execute: async ({ page }) => rows(page),
});

const anthropic = createAnthropic({ apiKey: "k1", baseURL: `${url}/v1` });
const openai = createOpenAI({ apiKey: "k1", baseURL: `${url}/v1` });
const providerOptions = { openai: { store: false } };
for (const model of [anthropic("claude-sonnet-4-5"), openai.chat("gpt-m"), openai.responses("gpt-m")]) {
  const asked = { model, system, tools: { slots }, stopWhen: stepCountIs(9), maxRetries: 0, providerOptions, prompt: "Which slots are free?" };
  const whole = await generateText(asked);
  assert.equal(whole.steps.length, 4);
  assert(whole.text.includes("Noted"), whole.text);
  const stream = streamText(asked);
  let text = "";
  for await (const piece of stream.textStream) text += piece;
  assert((await stream.steps).length === 4 && text.includes("Noted"), text);
}
