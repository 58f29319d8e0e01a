"""The rivals: each takes OpenAI messages and gives back the messages that it would send.

`original` gives the text behind what stands in place of a content, where the rival keeps it.
"""

import http.server
import json
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.request


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


class LeanCtx:
    """`lean-ctx proxy start` (`lean-ctx/main.rs`), before a provider that notes what it is sent."""

    def __init__(self):
        self.provider = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=self.provider.serve_forever, daemon=True).start()
        self.folder = tempfile.TemporaryDirectory()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        environment = {
            **os.environ,
            "HOME": self.folder.name,
            "LEAN_CTX_LIVE_PRICING": "off",
            "LEAN_CTX_OPENAI_UPSTREAM": f"http://127.0.0.1:{self.provider.server_port}",
            "LEAN_CTX_PROXY_TOKEN": "token",
        }
        command = ["lean-ctx-requests", "proxy", "start", f"--port={self.port}"]
        null = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, env=environment, cwd=self.folder.name
        )
        for _ in range(600):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health"):
                    return
            except urllib.error.URLError:
                time.sleep(0.05)
        raise RuntimeError("lean-ctx does not listen")

    def __del__(self):
        self.process.terminate()
        self.process.wait()
        self.provider.shutdown()
        self.provider.server_close()

    def post(self, path, body):
        headers = {"content-type": "application/json", "authorization": "Bearer token"}
        url = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def compress(self, messages):
        self.provider.sent = None  # an answer that asks nobody would be an error
        self.post("/v1/chat/completions", {"model": "gpt-4o", "messages": messages})
        return self.provider.sent["messages"]

    def original(self, content):
        return None


class Provider(http.server.BaseHTTPRequestHandler):
    """Keeps the last request that it was sent, and answers each with a word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["content-length"])
        self.server.sent = json.loads(self.rfile.read(length))
        choice = {"index": 0, "message": {"role": "assistant", "content": "Yes"}}
        choice["finish_reason"] = "stop"
        answer = {"id": "1", "object": "chat.completion", "model": "gpt-4o", "choices": [choice]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class LeanCtxCompress(LeanCtx):
    """The same proxy's `POST /v1/compress`, which takes messages and gives them back."""

    def compress(self, messages):
        body = {"model": "gpt-4o", "messages": messages}
        return self.post("/v1/compress", body)["messages"]


RIVALS = {
    "headroom": Headroom,
    "claw-compactor": ClawCompactor,
    "langchain": LangChain,
    "langchain:10000": langchain_early,
    "sqz": Sqz,
    "lean-ctx": LeanCtx,
    "lean-ctx:compress": LeanCtxCompress,
}
