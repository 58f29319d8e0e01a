#!/usr/bin/env python3
"""Prompts of other programs, for `accp-lab bench --policy file:`.

    accp-lab bench chats.jsonl --policy list --dump base.jsonl
    python3 tests/rivals/rivals.py base.jsonl -o rivals.jsonl
    accp-lab bench chats.jsonl --policy file:rivals.jsonl

Gives each prompt of the base to each rival as OpenAI messages, with the rival's defaults, and
writes what comes back in the form of --dump. The rivals are in `adapters.py`. With `--window 8192`
the rivals are those of `windows.py`, which keep the list of an agent inside a window: the agent's
own messages are the assistant's there, and those of others the user's.

The rivals are installed at the versions below into a folder outside of this project (--into):
packages of PyPI into a virtual environment, and the crates of the rivals that are asked for by
`cargo install --locked`.
"""

import argparse
import functools
import itertools
import json
import operator
import os
import pathlib
import subprocess
import sys
import time
import venv

import adapters
import lists
import windows

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["headroom-ai==0.42.0", "claw-compactor==7.1.0", "langchain==1.4.7"]
PACKAGES += ["deepagents==0.7.32", "ctx-compact==0.1.0", "turnsafe==0.1.0"]
CRATES = ["sqz", "lean-ctx"]
INSIDE = "ACCP_RIVALS_INSIDE"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", type=pathlib.Path, help="a dump with the prompts of `list`")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--rival", action="append", help="only this one; may be repeated")
    cache = pathlib.Path.home() / ".cache" / "accp-rivals"
    parser.add_argument("--into", type=pathlib.Path, default=cache, help=f"[{cache}]")
    parser.add_argument("--window", type=int, help="the tokens that a prompt may have")
    args = parser.parse_args()
    known = adapters.RIVALS if args.window is None else windows.WINDOWED
    for name in args.rival or []:
        if name not in known:
            parser.error(f"expected one of {', '.join(known)}, found {name}")
    rivals = args.rival or list(known)
    if os.environ.get(INSIDE) is None:
        return inside(args.into, {name.split(":")[0] for name in rivals})
    with open(args.output, "w", encoding="utf-8") as out:
        for name in rivals:
            begun = time.monotonic()
            if args.window is None:
                done = run(known[name], answer, brought_back, name, args.base, out)
            else:
                start = functools.partial(lists.Agents, known[name], args.window)
                done = run(start, lists.answer, lists.brought_back, name, args.base, out)
            print(f"{name}: {done} conversations, {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return 0


def inside(folder, rivals):
    """Installs the rivals where they are missing, and runs this script beside them."""
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"

    def packages():
        venv.create(folder / "venv", with_pip=True, clear=True)
        return [python, "-m", "pip", "install", "--quiet", *PACKAGES]

    def crate(name):
        root = ["--root", folder / "cargo", "--path", HERE / name]
        return ["cargo", "install", "--quiet", "--locked", "--force", *root]

    wanted = [("packages", "\n".join(PACKAGES), packages)]
    for name in CRATES:
        if name in rivals:
            files = ["Cargo.toml", "Cargo.lock", "main.rs"]
            text = "".join((HERE / name / file).read_text() for file in files)
            wanted.append((name, text, functools.partial(crate, name)))
    for name, text, command in wanted:
        stamp = folder / f"{name}.txt"
        if stamp.exists() and stamp.read_text() == text:
            continue
        install = command()
        if subprocess.run(install, check=False).returncode != 0:
            print(f"error: failed: {' '.join(map(str, install))}", file=sys.stderr)
            return 2
        stamp.write_text(text)
    path = os.pathsep.join([str(folder / "cargo" / "bin"), os.environ["PATH"]])
    environment = {**os.environ, INSIDE: "1", "PATH": path}
    return subprocess.run([python, __file__, *sys.argv[1:]], env=environment, check=False).returncode


def run(start, answer, brought_back, name, base, out):
    """Runs a rival, started anew for each conversation."""
    count = 0
    with open(base, encoding="utf-8") as lines:
        lines = (line for line in map(json.loads, lines) if line["policy"] == "list")
        place = operator.itemgetter("corpus", "conversation")
        for (corpus, conversation), lines in itertools.groupby(lines, place):
            where = {"corpus": corpus, "conversation": conversation, "policy": name}
            rival, originals = start(), []
            for line in lines:
                if "segments" in line:
                    out.write(lists.compact({**where, **answer(rival, line)}) + "\n")
                elif "original" in line:
                    originals.append(line)
            for line in brought_back(rival, originals):
                out.write(lists.compact({**where, **line}) + "\n")
            count += 1
    return count


def answer(rival, line):
    """The rival's prompt for a turn: the messages as recorded, with what the rival changed."""
    tools = [segment for segment in line["segments"] if segment["kind"] == "tools"]
    read = [segment for segment in line["segments"] if segment["kind"] != "tools"]
    recorded = [json.loads(segment["text"]) for segment in read]
    given = lists.as_openai(recorded)
    begun = time.monotonic()
    back = rival.compress(given) if given else []
    took = (time.monotonic() - begun) * 1000
    if len(back) != len(given):
        prompt = [{"kind": lists.kind_of(message), "text": lists.compact(message) + "\n"} for message in back]
    else:
        prompt = []
        for segment, message, before, after in zip(read, recorded, given, back):
            changed = [key for key in ("content", "tool_calls") if after.get(key) != before.get(key)]
            if changed:
                message = {**message, **{key: after.get(key) for key in changed}}
                segment = {**segment, "text": lists.compact(message) + "\n"}
            prompt.append(segment)
    return {"turn": line["turn"], "segments": tools + prompt, "milliseconds": took}


def brought_back(rival, originals):
    """The messages that the rival can give back when the conversation is over."""
    given = lists.as_openai([json.loads(line["original"]) for line in originals])
    back = rival.compress(given)
    if len(back) != len(given):
        return
    for line, before, after in zip(originals, given, back):
        if after == before or rival.original(after.get("content")) == before["content"]:
            yield {"message": line["message"], "original": line["original"]}


if __name__ == "__main__":
    sys.exit(main())
