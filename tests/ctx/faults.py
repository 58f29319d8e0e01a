"""Plants one fault each into valid lists, and says what `accp context check` and `accp context repair` make of it, beside
what the types of the official packages openai and anthropic say.

Usage: faults.py LISTS ACCP [TOTAL]: lines of the example `judged_lists`, the command, and about how many lists to make.
Prints a table, and fails if a fault is not found, has another name or no cure, or if what can be mended is not mended.
"""

import base64
import copy
import json
import math
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

SHAPES = {
    "openai": TypeAdapter(list[ChatCompletionMessageParam]),
    "anthropic": TypeAdapter(list[MessageParam]),
    "responses": TypeAdapter(list[ResponseInputItemParam]),
}
PNG = "iVBORw0KGgo="
EPHEMERAL = {"type": "ephemeral"}


class Unfit(Exception):
    """The list has no place for the fault."""


@dataclass(frozen=True)
class Kind:
    form: str
    name: str
    code: str
    mended: bool
    plant: Callable[[list], object]
    also: tuple[str, ...] = ()


KINDS: list[Kind] = []


def kind(form: str, name: str, code: str, mended: bool = False, also: tuple[str, ...] = ()):
    def add(plant: Callable[[list], object]) -> Callable[[list], object]:
        KINDS.append(Kind(form, name, code, mended, plant, also))
        return plant

    return add


def blocks(messages: list, wanted: str) -> list[dict]:
    contents = (message.get("content") for message in messages)
    return [block for content in contents if isinstance(content, list) for block in content if block.get("type") == wanted]


def first(found: Iterable):
    for one in found:
        return one
    raise Unfit


def of_role(messages: list, role: str, key: str = "content") -> dict:
    return first(message for message in messages if message.get("role") == role and message.get(key))


def listed(message: dict) -> list[dict]:
    """Returns the blocks of a message; a text becomes one."""
    if isinstance(message["content"], str):
        message["content"] = [{"type": "text", "text": message["content"]}]
    return message["content"]


def turn_of_words(messages: list) -> list[dict]:
    """Returns the blocks of a message of the user without results."""
    plain = (m for m in messages if m["role"] == "user" and not any(b["type"] == "tool_result" for b in listed(m)))
    return listed(first(plain))


def use(messages: list, id: str) -> None:
    """Renames the first call and its results."""
    call = first(blocks(messages, "tool_use"))
    old, call["id"] = call["id"], id
    for result in blocks(messages, "tool_result"):
        if result["tool_use_id"] == old:
            result["tool_use_id"] = id


def image(data: str = PNG, media_type: str = "image/png") -> dict:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def sized(width: int, height: int) -> dict:
    """Returns an image whose header says this size."""
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sIIBBBBB", 13, b"IHDR", width, height, 8, 6, 0, 0, 0)
    return image(base64.b64encode(header).decode())


def request(messages: list, **more: object) -> dict:
    return {"model": "claude-sonnet-4-5", "max_tokens": 4096, **more, "messages": messages}


def thoughtful(messages: list, budget: int = 1024, **more: object) -> dict:
    """Returns a request that asks for thoughts, with the list up to a turn of words of the user."""
    return request(answered(messages)[:-1], thinking={"type": "enabled", "budget_tokens": budget}, **more)


def document(**more: object) -> dict:
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Rye: 4 bags"}, **more}


SCHEMA = {"type": "object", "properties": {"bags": {"type": "integer"}}}
# A function in each form.
FUNCTIONS = {
    "anthropic": {"name": "stock", "description": "Says what there is.", "input_schema": SCHEMA},
    "openai": {"type": "function", "function": {"name": "stock", "description": "Says what there is.", "parameters": SCHEMA}},
    "responses": {"type": "function", "name": "stock", "description": "Says what there is.", "parameters": SCHEMA, "strict": False},
}


def answered(messages: list) -> list:
    """Returns the list up to a turn of words of the user, with an answer."""
    turn_of_words(messages)
    at = max(i for i, m in enumerate(messages) if m["role"] == "user" and listed(m)[0]["type"] != "tool_result")
    return [*messages[: at + 1], {"role": "assistant", "content": "Four bags."}]


def with_thought(messages: list, thought: dict) -> None:
    """Puts a thought before a text of the assistant."""
    for message in messages:
        if message["role"] == "assistant" and isinstance(message["content"], list):
            message["content"].insert(0, thought)
            return
    raise Unfit


# Anthropic


@kind("anthropic", "five marks for the cache", "cache-marks", True)
def _(messages):
    words = turn_of_words(messages)
    for found in blocks(messages, "tool_result"):
        found.pop("cache_control", None)
    words += [{"type": "text", "text": f"part {n}", "cache_control": EPHEMERAL} for n in range(5)]


@kind("anthropic", "a mark for an hour behind one for five minutes", "cache-order", True)
def _(messages):
    for found in blocks(messages, "tool_result"):
        found.pop("cache_control", None)
    hour = {"type": "ephemeral", "ttl": "1h"}
    turn_of_words(messages).extend(
        [{"type": "text", "text": "a", "cache_control": EPHEMERAL}, {"type": "text", "text": "b", "cache_control": hour}]
    )


@kind("anthropic", "a mark on a thought", "cache-place", True)
def _(messages):
    with_thought(messages, {"type": "thinking", "thinking": "hm", "signature": "Eq", "cache_control": EPHEMERAL})


@kind("anthropic", "a mark on an empty text", "cache-place", True, also=("text-blank",))
def _(messages):
    turn_of_words(messages).append({"type": "text", "text": "", "cache_control": EPHEMERAL})


@kind("anthropic", "a mark of another type", "cache-form", True)
def _(messages):
    turn_of_words(messages)[0]["cache_control"] = {"type": "persistent"}


@kind("anthropic", "a mark for two hours", "cache-form", True)
def _(messages):
    turn_of_words(messages)[0]["cache_control"] = {"type": "ephemeral", "ttl": "2h"}


@kind("anthropic", "an id with other characters", "id-form", True)
def _(messages):
    use(messages, "functions.read:1|fc_2")


@kind("anthropic", "an id of 70 characters", "id-form", True)
def _(messages):
    use(messages, "t" * 70)


@kind("anthropic", "a name with a dot", "name-form", True)
def _(messages):
    first(blocks(messages, "tool_use"))["name"] = "scale.read"


@kind("anthropic", "a name of 65 characters", "name-form", True)
def _(messages):
    first(blocks(messages, "tool_use"))["name"] = "n" * 65


@kind("anthropic", "an input that is JSON as a text", "arguments", True)
def _(messages):
    call = first(blocks(messages, "tool_use"))
    call["input"] = json.dumps(call["input"])


@kind("anthropic", "an input that is an array", "arguments")
def _(messages):
    first(blocks(messages, "tool_use"))["input"] = [1]


@kind("anthropic", "a thought without signature", "signature")
def _(messages):
    with_thought(messages, {"type": "thinking", "thinking": "hm"})


@kind("anthropic", "a thought with an empty signature", "signature")
def _(messages):
    with_thought(messages, {"type": "thinking", "thinking": "hm", "signature": ""})


@kind("anthropic", "an image in a result that is an error", "error-content", True)
def _(messages):
    result = first(blocks(messages, "tool_result"))
    result |= {"is_error": True, "content": [{"type": "text", "text": "it broke"}, image()]}


@kind("anthropic", "a content without blocks", "content-empty")
def _(messages):
    turn_of_words(messages).clear()


@kind("anthropic", "an empty text in a result", "content-empty", True)
def _(messages):
    first(blocks(messages, "tool_result"))["content"] = [{"type": "text", "text": ""}, {"type": "text", "text": "4"}]


@kind("anthropic", "a blank text beside others", "text-blank", True)
def _(messages):
    turn_of_words(messages).append({"type": "text", "text": " \n"})


@kind("anthropic", "an assistant at the end while thinking is on", "ends-with-assistant")
def _(messages):
    return request(answered(messages), thinking={"type": "enabled", "budget_tokens": 1024})


@kind("anthropic", "an assistant at the end for a model without prefill", "ends-with-assistant")
def _(messages):
    return request(answered(messages), model="claude-opus-4-6")


@kind("anthropic", "101 images", "images-over")
def _(messages):
    turn_of_words(messages).extend(image() for _ in range(101))


@kind("anthropic", "an assistant at the beginning", "first-not-user")
def _(messages):
    messages.insert(0, {"role": "assistant", "content": "Hi"})


@kind("anthropic", "a role of chat", "role")
def _(messages):
    first(m for m in messages if m["role"] == "user" and turn_of_words([m]))["role"] = "developer"


@kind("anthropic", "a text before the results", "results-not-first", True)
def _(messages):
    at = first(i for i, m in enumerate(messages) if m["role"] == "user" and listed(m)[0]["type"] == "tool_result")
    if messages[at - 1]["role"] != "assistant":
        raise Unfit
    messages[at]["content"].insert(0, {"type": "text", "text": "Well?"})


@kind("anthropic", "a thought of the user", "block-role")
def _(messages):
    turn_of_words(messages).append({"type": "thinking", "thinking": "hm", "signature": "Eq"})


@kind("anthropic", "an image of the assistant", "block-role")
def _(messages):
    with_thought(messages, image())


@kind("anthropic", "a part of chat", "part-kind")
def _(messages):
    turn_of_words(messages).append({"type": "image_url", "image_url": {"url": "https://a.example/b.png"}})


@kind("anthropic", "a part of Responses", "part-kind", True)
def _(messages):
    turn_of_words(messages).append({"type": "input_text", "text": "And oats?"})


@kind("anthropic", "an image that no provider reads", "image-form")
def _(messages):
    turn_of_words(messages).append(image("Qk0eAAAA", "image/bmp"))


@kind("anthropic", "an image with the type of another", "image-form", True)
def _(messages):
    turn_of_words(messages).append(image(PNG, "image/jpeg"))


@kind("anthropic", "an image as a data URL", "image-form", True)
def _(messages):
    turn_of_words(messages).append(image(f"data:image/png;base64,{PNG}"))


@kind("anthropic", "a hidden thought without data", "member-missing")
def _(messages):
    with_thought(messages, {"type": "redacted_thinking"})


@kind("anthropic", "a result of a server tool without its call", "result-orphan", True)
def _(messages):
    with_thought(messages, {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_x",
                            "content": {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}})


@kind("anthropic", "a call of a server tool without its result", "result-missing", True)
def _(messages):
    if not messages[-1]["role"] == "user" or len(messages) < 2:
        raise Unfit
    with_thought(messages[:-1], {"type": "server_tool_use", "id": "srvtoolu_x", "name": "web_fetch", "input": {}})


@kind("anthropic", "a thought at the end of a turn", "thinking-place")
def _(messages):
    at = first(i for i, m in enumerate(messages) if m["role"] == "assistant")
    if at + 1 < len(messages) and messages[at + 1]["role"] == "assistant":
        raise Unfit
    listed(messages[at]).append({"type": "thinking", "thinking": "hm", "signature": "Eq"})


@kind("anthropic", "an empty member of chat", "member-foreign", True)
def _(messages):
    of_role(messages, "assistant")["tool_calls"] = None


@kind("anthropic", "two tools of one name", "name-repeated")
def _(messages):
    tool = {"name": "stock", "input_schema": {"type": "object"}}
    return request(messages, tools=[tool, tool])


@kind("anthropic", "a result that is a number", "content-kind", True)
def _(messages):
    first(blocks(messages, "tool_result"))["content"] = 4


@kind("anthropic", "a result without its call", "result-orphan", True)
def _(messages):
    turn_of_words(messages[:1]).insert(0, {"type": "tool_result", "tool_use_id": "nobody", "content": "4"})


@kind("anthropic", "a budget for thoughts of 1,000 tokens", "thinking-budget")
def _(messages):
    return thoughtful(messages, 1000)


@kind("anthropic", "a budget for thoughts as large as the answer", "thinking-budget")
def _(messages):
    return thoughtful(messages, 4096)


@kind("anthropic", "a temperature beside thoughts", "sampling")
def _(messages):
    return thoughtful(messages, temperature=0)


@kind("anthropic", "a `top_k` beside thoughts", "sampling")
def _(messages):
    return thoughtful(messages, top_k=40)


@kind("anthropic", "a low `top_p` beside thoughts", "sampling")
def _(messages):
    return thoughtful(messages, top_p=0.9)


@kind("anthropic", "a forced call beside thoughts", "tool-choice")
def _(messages):
    return thoughtful(messages, tools=[FUNCTIONS["anthropic"]], tool_choice={"type": "any"})


@kind("anthropic", "a choice of a tool that is not there", "tool-choice")
def _(messages):
    return request(messages, tools=[FUNCTIONS["anthropic"]], tool_choice={"type": "tool", "name": "price"})


@kind("anthropic", "a tool without a schema", "tool-form")
def _(messages):
    return request(messages, tools=[{"name": "stock", "description": "Says what there is."}])


@kind("anthropic", "a tool of chat", "tool-form", True)
def _(messages):
    return request(messages, tools=[FUNCTIONS["openai"]])


@kind("anthropic", "a tool of Responses", "tool-form", True)
def _(messages):
    return request(messages, tools=[FUNCTIONS["responses"]])


@kind("anthropic", "a blank text of the system prompt", "system-blank", True)
def _(messages):
    return request(messages, system=[{"type": "text", "text": "Be brief."}, {"type": "text", "text": " "}])


@kind("anthropic", "an image of 8,001 pixels", "image-size")
def _(messages):
    turn_of_words(messages).append(sized(8001, 20))


@kind("anthropic", "an image of 2,001 pixels among 21", "image-size")
def _(messages):
    turn_of_words(messages).extend([image() for _ in range(20)] + [sized(20, 2001)])


@kind("anthropic", "an image over 10 MB", "image-size")
def _(messages):
    turn_of_words(messages).append(image(PNG[:-1] + "A" * 10 * 2**20))


@kind("anthropic", "citations in one document of two", "citations-mixed")
def _(messages):
    turn_of_words(messages).extend([document(citations={"enabled": True}), document()])


# OpenAI chat


def call_of(messages: list) -> dict:
    calls = (call for message in messages for call in message.get("tool_calls") or [])
    return first(call for call in calls if call["type"] == "function")


@kind("openai", "an id of 41 characters", "id-form", True)
def _(messages):
    call = call_of(messages)
    old, call["id"] = call["id"], "c" * 41
    for message in messages:
        if message.get("tool_call_id") == old:
            message["tool_call_id"] = call["id"]
        for other in message.get("tool_calls") or []:
            if other["id"] == old:
                other["id"] = call["id"]


@kind("openai", "a name with a space", "name-form", True)
def _(messages):
    call_of(messages)["function"]["name"] = "read scale"


@kind("openai", "arguments that are an object", "arguments", True)
def _(messages):
    call_of(messages)["function"]["arguments"] = {"p": 9}


@kind("openai", "a call without its type", "call-kind", True)
def _(messages):
    del call_of(messages)["type"]


@kind("openai", "a content without parts", "content-empty", True)
def _(messages):
    of_role(messages, "user")["content"] = []


@kind("openai", "a content that is a number", "content-kind", True)
def _(messages):
    of_role(messages, "user")["content"] = 7


@kind("openai", "an image of the assistant", "part-kind")
def _(messages):
    of_role(messages, "assistant")["content"] = [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]


@kind("openai", "a block of Anthropic's", "part-kind")
def _(messages):
    of_role(messages, "user")["content"] = [{"type": "tool_use", "id": "a", "name": "b", "input": {}}]


@kind("openai", "a part of Responses", "part-kind", True)
def _(messages):
    of_role(messages, "user")["content"] = [{"type": "input_text", "text": "Rye?"}]


@kind("openai", "an image that is a text", "image-form", True)
def _(messages):
    of_role(messages, "user")["content"] = [{"type": "image_url", "image_url": "https://a.example/b.png"}]


@kind("openai", "a text part without text", "member-missing")
def _(messages):
    of_role(messages, "user")["content"] = [{"type": "text"}]


@kind("openai", "a list of calls without calls", "calls-empty", True)
def _(messages):
    plain = (m for m in messages if m["role"] == "assistant" and m.get("content"))
    first(m for m in plain if "tool_calls" not in m and "function_call" not in m)["tool_calls"] = []


@kind("openai", "a role of another", "role")
def _(messages):
    of_role(messages, "user")["role"] = "human"


@kind("openai", "a result without its call", "result-orphan", True)
def _(messages):
    messages.insert(0, {"role": "tool", "tool_call_id": "nobody", "content": "4"})


@kind("openai", "a call without its result", "result-missing", True)
def _(messages):
    messages.insert(0, {"role": "assistant", "content": "So:", "tool_calls": [
        {"id": "late", "type": "function", "function": {"name": "read", "arguments": "{}"}}]})
    messages.insert(1, {"role": "user", "content": "Well?"})


def chat(messages: list, **more: object) -> dict:
    return {"model": "gpt-5", **more, "messages": messages}


@kind("openai", "129 tools", "tools-over")
def _(messages):
    named = [{"type": "function", "function": {"name": f"stock_{n}", "parameters": SCHEMA}} for n in range(129)]
    return chat(messages, tools=named)


@kind("openai", "a choice of a tool that is not there", "tool-choice")
def _(messages):
    choice = {"type": "function", "function": {"name": "price"}}
    return chat(messages, tools=[FUNCTIONS["openai"]], tool_choice=choice)


@kind("openai", "a tool of Responses", "tool-form", True)
def _(messages):
    return chat(messages, tools=[FUNCTIONS["responses"]])


@kind("openai", "a tool of Anthropic's", "tool-form", True)
def _(messages):
    return chat(messages, tools=[FUNCTIONS["anthropic"]])


# OpenAI Responses


def item(messages: list, wanted: str) -> dict:
    return first(one for one in messages if one.get("type") == wanted)


@kind("responses", "an id of 65 characters", "id-form", True)
def _(messages):
    call = item(messages, "function_call")
    old = call["call_id"]
    for one in messages:
        if one.get("call_id") == old:
            one["call_id"] = "c" * 65


@kind("responses", "a call with the id of another kind", "item-id", True)
def _(messages):
    item(messages, "function_call")["id"] = "call_9"


@kind("responses", "a message with the id of another kind", "item-id", True)
def _(messages):
    first(one for one in messages if one.get("type") == "message" and one.get("role") == "assistant")["id"] = "item_9"


@kind("responses", "arguments that are an object", "arguments", True)
def _(messages):
    item(messages, "function_call")["arguments"] = {"p": 9}


@kind("responses", "a part of the user's in the assistant's message", "part-kind", True)
def _(messages):
    said = first(one for one in messages if one.get("role") == "assistant" and isinstance(one["content"], list))
    said["content"][0]["type"] = "input_text"


@kind("responses", "a part of chat", "part-kind", True)
def _(messages):
    of_role(messages, "user")["content"] = [{"type": "text", "text": "Rye?"}]


@kind("responses", "an output that is an object", "content-kind", True)
def _(messages):
    item(messages, "function_call_output")["output"] = {"bags": 4}


@kind("responses", "reasoning without its item", "reasoning-split")
def _(messages):
    messages.insert(0, {"type": "reasoning", "id": "rs_planted", "summary": []})


@kind("responses", "reasoning without a summary", "member-missing", True)
def _(messages):
    del item(messages, "reasoning")["summary"]


@kind("responses", "an image as in chat", "image-form", True)
def _(messages):
    url = {"url": "https://a.example/b.png"}
    of_role(messages, "user")["content"] = [{"type": "input_image", "detail": "auto", "image_url": url}]


@kind("responses", "an output without its call", "result-orphan", True)
def _(messages):
    messages.insert(0, {"type": "function_call_output", "call_id": "nobody", "output": "4"})

@kind("responses", "one id of two items", "item-id", True)
def _(messages):
    for words in ("Let me see.", "So:"):
        said = [{"type": "output_text", "text": words, "annotations": []}]
        messages.insert(0, {"type": "message", "role": "assistant", "id": "msg_planted", "status": "completed", "content": said})


@kind("responses", "an output of another kind than its call", "output-kind", True)
def _(messages):
    item(messages, "function_call_output")["type"] = "custom_tool_call_output"


@kind("responses", "an approval without its request", "approval-orphan")
def _(messages):
    messages.insert(0, {"type": "mcp_approval_response", "approval_request_id": "mcpr_9", "approve": True})


def responses(messages: list, **more: object) -> dict:
    return {"model": "gpt-5", **more, "input": messages}


@kind("responses", "a choice of a tool that is not there", "tool-choice")
def _(messages):
    return responses(messages, tools=[FUNCTIONS["responses"]], tool_choice={"type": "function", "name": "price"})


@kind("responses", "a tool of chat", "tool-form", True)
def _(messages):
    return responses(messages, tools=[FUNCTIONS["openai"]])


@kind("responses", "a tool of Anthropic's", "tool-form", True)
def _(messages):
    return responses(messages, tools=[FUNCTIONS["anthropic"]])


def walk(value: object) -> None:
    """Reads a value to its end: pydantic checks the items of an Iterable only when they are taken."""
    if isinstance(value, Mapping):
        for inner in value.values():
            walk(inner)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for inner in value:
            walk(inner)


def refused_by_types(form: str, messages: list) -> bool:
    try:
        walk(SHAPES[form].validate_python(messages))
    except ValidationError:
        return True
    return False


def run(accp: str, command: str, form: str, text: str) -> str:
    more = ["--format", "json"] if command == "check" else []
    done = subprocess.run([accp, "context", command, "--messages", form, *more], input=text, capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: {done.stderr}\n{text}")
    return done.stdout


def errors(accp: str, form: str, text: str) -> list[dict]:
    return json.loads(run(accp, "check", form, text))["errors"]


def main() -> int:
    path, accp = sys.argv[1:3]
    total = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    each = max(1, math.ceil(total / len(KINDS))) if total else 2
    with open(path, encoding="utf-8") as lines:
        records = [record for record in map(json.loads, lines) if record["kind"] == "valid"]
    alarms = [record for record in records if record["errors"]]
    columns = ("lists", "found", "named", "cure", "mendable", "mended", "types")
    table: dict[str, Counter] = {}
    missed = []
    for one in KINDS:
        row = table.setdefault(f"{one.form}: {one.name} (`{one.code}`)", Counter())
        for record in records:
            if row["lists"] == each:
                break
            if record["form"] != one.form:
                continue
            messages = copy.deepcopy(record["messages"])
            try:
                planted = one.plant(messages) or messages
            except Unfit:
                continue
            text = json.dumps(planted)
            found = errors(accp, one.form, text)
            codes = {error["code"] for error in found}
            mine = [error for error in found if error["code"] == one.code]
            named = one.code in codes and codes <= {one.code, *one.also}
            left = errors(accp, one.form, run(accp, "repair", one.form, text)) if one.mended else found
            row.update(lists=1, found=bool(found), named=named, cure=bool(mine) and all("; " in e["text"] or ", or run" in e["text"] for e in mine),
                       mendable=one.mended, mended=one.mended and not left, types=refused_by_types(one.form, messages))
            if not named or one.mended and left:
                missed.append(f"{one.form}: {one.name}: {found}, left {left if one.mended else '-'}\n{text[:3000]}")
    print("| fault | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for name, row in table.items():
        print(f"| {name} | " + " | ".join(str(row[column]) for column in columns) + " |")
    sums = Counter()
    for row in table.values():
        sums.update(row)
    codes = len({one.code for one in KINDS})
    print(f"| {len(KINDS)} kinds of {codes} codes | " + " | ".join(str(sums[column]) for column in columns) + " |")
    short = [name for name, row in table.items() if row["lists"] < each]
    print(*missed[:10], sep="\n", file=sys.stderr)
    whole = all(sums[column] == sums["lists"] for column in ("found", "named", "cure")) and sums["mended"] == sums["mendable"]
    if not whole or short or alarms:
        print(f"not as it should be; too few lists for {short}; {len(alarms)} false alarms", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
