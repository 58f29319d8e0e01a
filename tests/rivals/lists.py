"""The lists of messages that rivals get, and the prompts that they make of them."""

import functools
import json
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "recount"))

import tokens


def as_openai(recorded):
    """The messages as a user of the OpenAI API has them. Calls without ids get ids."""
    messages, open_calls = [], []
    for index, message in enumerate(recorded):
        role = {"agent": "assistant", "function": "tool"}.get(message["role"], message["role"])
        result = {"role": role, "content": message.get("content") or ""}
        if message.get("name"):
            result["name"] = message["name"]
        if message.get("tool_calls"):
            result["tool_calls"] = [
                {
                    "id": call.get("id") or f"call_{index}_{place}",
                    "type": "function",
                    "function": call.get("function")
                    or {"name": call.get("name"), "arguments": compact(call.get("arguments"))},
                }
                for place, call in enumerate(message["tool_calls"])
            ]
            open_calls = [call["id"] for call in result["tool_calls"]]
        if role == "tool":
            first = open_calls.pop(0) if open_calls else f"call_{index}"
            result["tool_call_id"] = message.get("tool_call_id") or first
        messages.append(result)
    return messages


def kind_of(message):
    kinds = {"system": "system", "developer": "system", "user": "user"}
    kinds |= {"tool": "result", "function": "result"}
    return kinds.get(message["role"]) or ("call" if message.get("tool_calls") else "agent")


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class Agents:
    """A rival that keeps the list of each agent of a conversation inside a window."""

    def __init__(self, start, window):
        self.start, self.window = start, window
        self.rivals, self.newest = {}, {}

    def compress(self, agent, beside, own):
        if agent not in self.rivals:
            room = self.window - sum(map(tokens.count, beside))
            self.rivals[agent] = self.start(room, self.count)
        self.own = own
        pairs = self.rivals[agent].compress(own.given)
        self.newest[agent] = (own, pairs)
        return pairs

    def count(self, message):
        return self.own.count(message)


class Own:
    """The messages of a prompt, oldest first, as the agent's program has them."""

    def __init__(self, segments, agent):
        self.segments = sorted(segments, key=lambda segment: segment["message"])
        self.places = [segment["message"] for segment in self.segments]
        foreign = set()
        lines = ((segment["text"], segment["kind"], agent) for segment in self.segments)
        self.chat = [as_chat(*line, foreign) for line in lines]
        self.lines = [compact(message) + "\n" for message in self.chat]
        self.given = as_openai(self.chat)
        self.sizes = {id(message): size for message, size in zip(self.given, map(tokens.count, self.lines))}
        self.texts = None

    def count(self, message):
        """Counts the line that the prompt shows."""
        size = self.sizes.get(id(message))
        if size is not None:
            return size
        if self.texts is None:
            self.texts = {compact(given): self.sizes[id(given)] for given in self.given}
        text = compact(message)
        return self.texts[text] if text in self.texts else tokens.count(text + "\n")

    def segment(self, place, message):
        if place is None:
            kind = "facts" if message["role"] == "user" else kind_of(message)
            return {"kind": kind, "text": compact(message) + "\n"}
        segment = {"kind": self.segments[place]["kind"], "message": self.places[place]}
        if message is self.given[place]:
            return {**segment, "text": self.lines[place]}
        keys = [key for key in ("content", "tool_calls") if message.get(key) != self.given[place].get(key)]
        changed = {**self.chat[place], **{key: message.get(key) for key in keys}}
        return {**segment, "text": compact(changed) + "\n"}


@functools.lru_cache(maxsize=1 << 12)
def read(text):
    return json.loads(text)


def as_chat(text, kind, agent, foreign):
    """The message in the list of the agent: its own are the assistant's, all others the user's.

    What answers a call of another agent is the user's, too.
    """
    message = read(text)
    is_own = (message.get("name") or message["role"]) == agent
    calls = {call.get("id") for call in message.get("tool_calls") or []}
    if kind == "system":
        role = "system"
    elif kind == "result" and message.get("tool_call_id") and message["tool_call_id"] not in foreign:
        role = "tool"
    else:
        role = "assistant" if is_own else "user"
    if is_own:
        foreign.difference_update(calls)
    else:
        foreign.update(calls)
    left_out = {"role"}
    left_out |= set() if role == "assistant" else {"tool_calls", "function_call"}
    left_out |= set() if role == "tool" else {"tool_call_id"}
    chat = {"role": role}
    chat.update((key, value) for key, value in message.items() if key not in left_out)
    if chat.get("content") is None and not chat.get("tool_calls"):
        chat["content"] = ""
    return chat


def answer(rival, line):
    """The rival's prompt for a turn."""
    beside = [segment for segment in line["segments"] if segment["kind"] == "tools"]
    read = [segment for segment in line["segments"] if segment["kind"] != "tools"]
    own = Own(read, line["agent"])
    begun = time.monotonic()
    texts = [segment["text"] for segment in beside]
    pairs = rival.compress(line["agent"], texts, own) if read else []
    took = (time.monotonic() - begun) * 1000
    segments = beside + [own.segment(*pair) for pair in pairs]
    return {"turn": line["turn"], "segments": segments, "milliseconds": took}


def brought_back(rival, originals):
    """The messages that stand in the newest list of an agent, that the rival keeps, or that no
    agent has read yet."""
    read, back = set(), set()
    for agent, (own, pairs) in rival.newest.items():
        now = {place: message for place, message in pairs if place is not None}
        read.update(own.places)
        for place, message in enumerate(own.given):
            shown = now.get(place)
            if shown is message or rival.rivals[agent].holds(message, shown):
                back.add(own.places[place])
    for line in originals:
        if line["message"] in back or line["message"] not in read:
            yield {"message": line["message"], "original": line["original"]}
