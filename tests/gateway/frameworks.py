"""Speaks to an API with frameworks that stand on other packages: frameworks.py URL. It fails if an answer is not what it should be."""

import json
import os
import sys

URL = sys.argv[1]
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "ANTHROPIC_API_KEY": "k1", "OPENAI_API_KEY": "k1"}

import litellm
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

litellm.suppress_debug_info = True
SYSTEM = "You book tables. " * 400
ASKED = "Which slots are free?"


def slots(page: str) -> str:
    """Lists slots."""
    rows = [{"slot": f"K{n}-{page}", "day": f"2031-06-{n % 28 + 1:02}", "free": n % 3 == 0, "note": None} for n in range(30)]
    return json.dumps(rows)


def by_litellm(model, url):
    tools = [{"type": "function", "function": {"name": "slots", "description": "Lists slots.", "parameters": {
        "type": "object", "properties": {"page": {"type": "string"}}}}}]
    for streams in (False, True):
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": f"{ASKED} {streams}"}]
        for turn in range(9):
            answer = litellm.completion(model=model, api_base=url, messages=messages, tools=tools, max_tokens=500, stream=streams)
            if streams:
                answer = litellm.stream_chunk_builder(list(answer), messages=messages)
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            messages += [{"role": "tool", "tool_call_id": call.id, "content": slots(str(turn))} for call in message.tool_calls]
        assert turn == 3 and "Noted" in message.content, (turn, message)


def by_langchain(model):
    agent = create_agent(model, tools=[slots], system_prompt=SYSTEM)
    asked = {"messages": [{"role": "user", "content": ASKED}]}
    said = agent.invoke(asked)["messages"]
    assert len(said) == 8 and "Noted" in str(said[-1].content), said
    pieces = list(agent.stream(asked, stream_mode="messages"))
    assert len(pieces) > 8, pieces


by_litellm("anthropic/claude-sonnet-4-5", URL)
by_litellm("openai/gpt-m", f"{URL}/v1")
by_langchain(ChatAnthropic(model="claude-sonnet-4-5", base_url=URL, max_tokens=500, max_retries=0))
by_langchain(ChatOpenAI(model="gpt-m", base_url=f"{URL}/v1", max_retries=0))
by_langchain(ChatOpenAI(model="gpt-m", base_url=f"{URL}/v1", max_retries=0, use_responses_api=True, store=False,
                        include=["reasoning.encrypted_content"]))
