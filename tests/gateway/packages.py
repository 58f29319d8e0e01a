"""Speaks to an API with the packages `anthropic` and `openai`: packages.py URL. It fails if an answer is not what it should be."""

import json
import sys

import anthropic
import openai

URL = sys.argv[1]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SYSTEM = "You book tables. " * 400
SCHEMA = {"type": "object", "properties": {"page": {"type": "string"}}}


def page(number):
    rows = [{"slot": f"K{n}", "day": f"2031-06-{n % 28 + 1:02}", "free": n % 3 == 0, "note": None} for n in range(30)]
    return json.dumps([{**row, "slot": f"{row['slot']}-{number}"} for row in rows])


def claude():
    client = anthropic.Anthropic(api_key="k1", base_url=URL, max_retries=0)
    mark = {"type": "ephemeral"}
    common = dict(model="claude-m", max_tokens=2048, system=[{"type": "text", "text": SYSTEM, "cache_control": mark}])
    tools = [{"name": "slots", "description": "Lists slots.", "input_schema": SCHEMA}]
    hello = [{"role": "user", "content": "Hello"}]
    assert client.messages.create(messages=hello, **common).content[0].text.startswith("Noted")
    with client.messages.stream(messages=hello, **common) as stream:
        assert "".join(stream.text_stream).startswith("Noted")
        assert stream.get_final_message().usage.output_tokens > 0
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    asked = [{"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]}]
    assert client.messages.create(messages=asked, **common).stop_reason == "end_turn"
    assert client.messages.count_tokens(model="claude-m", messages=hello).input_tokens > 0
    assert client.models.list().data[0].id == "claude-m"
    wrong = {**picture, "source": {**picture["source"], "media_type": "image/bmp"}}
    try:
        client.messages.create(messages=[{"role": "user", "content": [wrong]}], **common)
        raise SystemExit("a picture of an unknown type was taken")
    except anthropic.BadRequestError as error:
        assert "media_type" in str(error), error
    for streams in (False, True):
        for thinking in ({}, {"thinking": {"type": "enabled", "budget_tokens": 1024}}):
            messages = [{"role": "user", "content": f"Which slots are free? {streams} {len(thinking)}"}]
            for turn in range(9):
                more = dict(messages=messages, tools=tools, **thinking, **common)
                if streams:
                    with client.messages.stream(**more) as stream:
                        answer = stream.get_final_message()
                else:
                    answer = client.messages.create(**more)
                kinds = [block.type for block in answer.content]
                assert ("thinking" in kinds) == bool(thinking), kinds
                messages.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in answer.content]})
                calls = [block for block in answer.content if block.type == "tool_use"]
                if not calls:
                    break
                results = [{"type": "tool_result", "tool_use_id": call.id, "content": page(turn)} for call in calls]
                messages.append({"role": "user", "content": results})
            assert turn == 3, turn


def chat():
    client = openai.OpenAI(api_key="k1", base_url=f"{URL}/v1", max_retries=0)
    hello = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hello"}]
    answer = client.chat.completions.create(model="gpt-m", messages=hello)
    assert answer.choices[0].message.content.startswith("Noted") and answer.usage.prompt_tokens > 0
    chunks = list(client.chat.completions.create(model="gpt-m", messages=hello, stream=True,
                                                 stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens > 0 and not chunks[-1].choices
    parts = [{"type": "text", "text": "What is it?"},
             {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]
    client.chat.completions.create(model="gpt-m", messages=[{"role": "user", "content": parts}])
    assert client.models.list().data[1].id == "gpt-m"
    tools = [{"type": "function", "function": {"name": "slots", "description": "Lists slots.", "parameters": SCHEMA}}]
    for streams in (False, True):
        messages = hello[:1] + [{"role": "user", "content": f"Which slots are free? {streams}"}]
        for turn in range(9):
            if streams:
                with client.chat.completions.stream(model="gpt-m", messages=messages, tools=tools) as stream:
                    message = stream.get_final_completion().choices[0].message
            else:
                message = client.chat.completions.create(model="gpt-m", messages=messages, tools=tools).choices[0].message
            calls = message.tool_calls or []
            given = {"role": "assistant", "content": message.content}
            if not calls:
                break
            given["tool_calls"] = [{"id": call.id, "type": "function", "function": {
                "name": call.function.name, "arguments": call.function.arguments}} for call in calls]
            messages.append(given)
            messages += [{"role": "tool", "tool_call_id": call.id, "content": page(turn)} for call in calls]
        assert turn == 3, turn


def responses():
    client = openai.OpenAI(api_key="k1", base_url=f"{URL}/v1", max_retries=0)
    tools = [{"type": "function", "name": "slots", "description": "Lists slots.", "parameters": SCHEMA, "strict": False}]
    answer = client.responses.create(model="gpt-m", input="Hello", instructions=SYSTEM)
    assert answer.output_text.startswith("Noted") and answer.usage.input_tokens > 0
    answer = client.responses.create(model="gpt-m", input="And now?", previous_response_id=answer.id)
    assert answer.output_text.startswith("Noted")
    parts = [{"type": "input_text", "text": "What is it?"},
             {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}]
    client.responses.create(model="gpt-m", input=[{"role": "user", "content": parts}])
    for store in (False, True):
        for streams in (False, True):
            items = [{"role": "user", "content": f"Which slots are free? {store} {streams}"}]
            before = None
            for turn in range(9):
                more = dict(model="gpt-m", input=items, tools=tools, store=store, instructions=SYSTEM,
                            reasoning={"effort": "low"})
                if store and before:
                    more["previous_response_id"] = before
                if not store:
                    more["include"] = ["reasoning.encrypted_content"]
                if streams:
                    with client.responses.stream(**more) as stream:
                        answer = stream.get_final_response()
                else:
                    answer = client.responses.create(**more)
                before = answer.id
                calls = [item for item in answer.output if item.type == "function_call"]
                if not calls:
                    break
                results = [{"type": "function_call_output", "call_id": call.call_id, "output": page(turn)} for call in calls]
                if store:
                    items = results
                else:
                    items += [json.loads(item.model_dump_json(exclude={"parsed_arguments"}, exclude_none=True))
                              for item in answer.output]
                    items += results
            assert turn == 3, turn


claude()
chat()
responses()
