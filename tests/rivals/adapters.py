"""The rivals: each takes OpenAI messages and gives back the messages that it would send.

`original` gives the text behind what stands in place of a content, where the rival keeps it.
"""

import json
import os
import re
import subprocess
import tempfile


class Headroom:
    """`headroom.compress(messages, model=...)`, as in its README.

    Without a network it estimates tokens, and without its extra `ml` it leaves prose alone.
    """

    def compress(self, messages):
        import headroom

        return headroom.compress(messages, model="gpt-4o").messages

    def original(self, content):
        from headroom.cache.compression_store import get_compression_store

        for key in re.findall(r"(?:hash=|<<ccr:)([0-9a-f]+)", str(content)):
            entry = get_compression_store().retrieve(key)
            if entry is not None:
                return entry.original_content
        return None


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


class LangChain:
    """`ContextEditingMiddleware()`, whose default edit is `ClearToolUsesEdit()`."""

    def __init__(self, *edits):
        from langchain.agents.middleware import ContextEditingMiddleware

        self.middleware = ContextEditingMiddleware(edits=edits)

    def compress(self, messages):
        from langchain.agents.middleware.types import ModelRequest
        from langchain_core.messages import convert_to_messages

        request = ModelRequest(model=None, messages=convert_to_messages(messages))
        edited = self.middleware.wrap_model_call(request, lambda request: request.messages)
        # The edit changes contents alone.
        return [{**old, "content": new.content} for old, new in zip(messages, edited, strict=True)]

    def original(self, content):
        return None


def langchain_early():
    """The same edit, from 10,000 tokens: few recorded conversations reach its default."""
    from langchain.agents.middleware import ClearToolUsesEdit

    return LangChain(ClearToolUsesEdit(trigger=10_000))


class Sqz:
    """The compression of `sqz proxy`, by the crate sqz-engine (`sqz/main.rs`)."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        database = os.path.join(self.folder.name, "sessions.db")
        environment = {**os.environ, "SQZ_DB_PATH": database, "SQZ_QUIET": "1"}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            ["sqz-requests"], stdin=pipe, stdout=pipe, env=environment, text=True, encoding="utf-8"
        )

    def __del__(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()

    def compress(self, messages):
        self.process.stdin.write(json.dumps({"model": "gpt-4o", "messages": messages}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())["messages"]

    def original(self, content):
        return None


RIVALS = {
    "headroom": Headroom,
    "claw-compactor": ClawCompactor,
    "langchain": LangChain,
    "langchain:10000": langchain_early,
    "sqz": Sqz,
}
