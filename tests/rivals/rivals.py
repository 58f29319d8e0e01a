#!/usr/bin/env python3
"""Prompts of other programs, for `accp bench context --rival`.

    python3 tests/rivals/rivals.py chats.jsonl -o rivals.jsonl
    accp bench context chats.jsonl --rival rivals.jsonl

Reads recorded conversations as `accp bench context` does, gives the history before each message
of an agent to each rival as its documentation says (OpenAI-style messages, defaults unless the
name says otherwise), and writes what comes back in the form of `accp bench context --dump`.

The rivals are installed from PyPI, at the versions below, into a virtual environment that this
script makes (--venv). What a rival cannot do without a network or a model is said on stderr.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import venv

PACKAGES = ["headroom-ai==0.42.0", "claw-compactor==7.1.0"]
INSIDE = "ACCP_RIVALS_INSIDE"
AGENTS = ("assistant", "agent")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--limit", type=int, help="the first conversations of each file only")
    parser.add_argument("--rival", action="append", choices=sorted(RIVALS), help="only this one")
    parser.add_argument(
        "--venv", type=pathlib.Path, default=pathlib.Path("target/rivals"), help="[target/rivals]"
    )
    args = parser.parse_args()
    if os.environ.get(INSIDE) is None:
        return inside(args.venv)
    names = args.rival or sorted(RIVALS)
    with open(args.output, "w", encoding="utf-8") as out:
        for name in names:
            for file in args.files:
                begun = time.monotonic()
                done = run_file(name, file, args.limit, out)
                took = time.monotonic() - begun
                print(f"{name}: {file.stem}: {done} conversations, {took:.0f} s", file=sys.stderr)
    return 0


def inside(folder):
    """Makes the virtual environment where it is missing, and runs this script in it."""
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join(PACKAGES)
    if not stamp.exists() or stamp.read_text() != wanted:
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", *PACKAGES]
        if subprocess.run(install, check=False).returncode != 0:
            print(f"error: pip could not install {', '.join(PACKAGES)}", file=sys.stderr)
            return 2
        stamp.write_text(wanted)
    environment = {**os.environ, INSIDE: "1"}
    return subprocess.run([python, __file__, *sys.argv[1:]], env=environment, check=False).returncode


def run_file(name, file, limit, out):
    seen = {}
    number = 0
    with open(file, encoding="utf-8") as lines:
        for line in lines:
            if not line.strip():
                continue
            conversation = json.loads(line)
            number += 1
            identity = conversation.get("id", f"conversation {number}")
            identity = str(identity)
            seen[identity] = seen.get(identity, 0) + 1
            if seen[identity] > 1:
                identity = f"{identity}#{seen[identity]}"
            where = {"corpus": file.stem, "conversation": identity, "policy": name}
            run_conversation(RIVALS[name](), conversation, where, out)
            if limit is not None and number >= limit:
                break
    return number


def run_conversation(rival, conversation, where, out):
    messages = [as_shown(message) for message in conversation["messages"]]
    tools = conversation.get("tools")
    names_with_prompt = {m["name"] for m in messages if m["role"] == "system" and m.get("name")}
    last = []
    for turn, message in enumerate(messages):
        if message["role"] not in AGENTS:
            continue
        agent = message.get("name") or message["role"]
        places = [i for i in range(turn) if is_for(messages[i], agent, names_with_prompt)]
        read = [messages[i] for i in places]
        begun = time.monotonic()
        given = [as_openai(m) for m in read]
        back = rival.compress(given) if given else []
        took = (time.monotonic() - begun) * 1000
        segments = [{"kind": "tools", "text": compact(tools) + "\n"}] if tools is not None else []
        last = shown(read, given, back)
        segments += [{"kind": kind_of(m), "text": compact(m) + "\n"} for m in last]
        if len(last) == len(places):
            for place, segment in zip(reversed(places), reversed(segments)):
                segment["message"] = place
        emit(out, {**where, "turn": turn, "segments": segments, "milliseconds": took})
    # What the rival still has of each message when the conversation is over.
    everyone = [as_openai(m) for m in messages]
    back = rival.compress(everyone)
    if len(back) != len(messages):
        return
    for index, (message, before, after) in enumerate(zip(messages, everyone, back)):
        if after == before or rival.original(after.get("content")) == before["content"]:
            emit(out, {**where, "message": index, "original": compact(message)})


def shown(read, given, back):
    """The messages of the prompt: as recorded, with what the rival changed."""
    if len(back) != len(read):
        return [dict(message) for message in back]
    prompt = []
    for message, before, after in zip(read, given, back):
        message = dict(message)
        if after.get("content") != before["content"]:
            message["content"] = after.get("content")
        if after.get("tool_calls") != before.get("tool_calls"):
            message["tool_calls"] = after.get("tool_calls")
        prompt.append(message)
    return prompt


def as_shown(message):
    """A recorded message without the recording's own keys."""
    message = dict(message)
    if isinstance(message.get("tool_calls"), list):
        message["tool_calls"] = [
            {key: value for key, value in call.items() if key != "arguments_raw"}
            for call in message["tool_calls"]
        ]
    return message


def as_openai(message):
    """The message as a user of the OpenAI API has it."""
    role = "assistant" if message["role"] in AGENTS else message["role"]
    result = {"role": role, "content": message.get("content") or ""}
    if message.get("name"):
        result["name"] = message["name"]
    if message.get("tool_call_id"):
        result["tool_call_id"] = message["tool_call_id"]
    if message.get("tool_calls"):
        result["tool_calls"] = [
            {
                "id": call.get("id"),
                "type": "function",
                "function": call.get("function")
                or {"name": call.get("name"), "arguments": compact(call.get("arguments"))},
            }
            for call in message["tool_calls"]
        ]
    return result


def is_for(message, agent, names_with_prompt):
    """A system prompt with a name is for the agent of that name."""
    own = message["role"] == "system" and message.get("name") in names_with_prompt
    return not own or message["name"] == agent


def kind_of(message):
    role = message["role"]
    if role in ("system", "developer"):
        return "system"
    if role == "user":
        return "user"
    if role in ("tool", "function"):
        return "result"
    return "call" if message.get("tool_calls") else "agent"


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def emit(out, line):
    out.write(compact(line) + "\n")


class Headroom:
    """`headroom.compress(messages, model=...)`, as in its README."""

    said = False

    def __init__(self):
        import headroom

        self.call = headroom.compress
        if not Headroom.said:
            Headroom.said = True
            print(
                "headroom: without a network it estimates tokens, and without its extra `ml` and "
                "a model from the network it leaves prose alone",
                file=sys.stderr,
            )

    def compress(self, messages):
        return self.call(messages, model="gpt-4o").messages

    def original(self, content):
        from headroom.cache.compression_store import get_compression_store

        for key in re.findall(r"(?:hash=|<<ccr:)([0-9a-f]+)", str(content)):
            entry = get_compression_store().retrieve(key)
            if entry is not None:
                return entry.original_content
        return None


class HeadroomAgent(Headroom):
    """`densify(messages, model=...)`: its mode for live agents."""

    def __init__(self):
        super().__init__()
        from headroom.compress import densify

        self.call = densify


class ClawCompactor:
    """`FusionEngine().compress_messages(messages)`, as in its README."""

    def __init__(self):
        from claw_compactor.fusion.engine import FusionEngine

        self.engine = FusionEngine(enable_rewind=True)

    def compress(self, messages):
        return self.engine.compress_messages(messages)["messages"]

    def original(self, content):
        for key in re.findall(r"[0-9a-f]{24}", str(content)):
            original = self.engine.rewind_store.retrieve(key)
            if original is not None:
                return original
        return None


RIVALS = {
    "headroom": Headroom,
    "headroom-agent": HeadroomAgent,
    "claw-compactor": ClawCompactor,
}

if __name__ == "__main__":
    sys.exit(main())
