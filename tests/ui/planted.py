"""Mistakes in the page of a hub, each with the check that must find it."""

import base64
import hashlib
import http.client
import re

# What stands in the page, what stands there instead, the check, and a part of what it must say.
PLANTED = {
    "a bar of another width": ("Math.min(100, share * 100)", "Math.min(100, share * 90)", "shows_the_context", "the bar hot is"),
    "a checkpoint that is left out": ("warm.toReversed()", "warm.slice(1).toReversed()", "shows_the_context", "the checkpoints are"),
    "frames that are not in the context": ("if (mine.hot.has(position))", "if (!mine.hot.has(position))", "shows_the_context", "in the context"),
    "a value that nobody has asked for": (
        "async function readState(mine) {\n", "async function readState(mine) {\nask(of(mine.name, 'values/ctx.budget'));", "reads_values", "nobody has asked for",
    ),
    "a focus that cannot be seen": ("outline:2px solid var(--accent)", "outline:0", "goes_by_keyboard", "the focus is drawn"),
    "a key without effect": ("key === '/'", "key === '?'", "goes_by_keyboard", "/ does not go"),
    "a bar that is too wide for a phone": (".bar{display:flex;", ".bar{min-width:420px;display:flex;", "fits_everywhere", "too wide"),
    "texts that the dark swallows": ("--quiet:#a3b1c0", "--quiet:#3a4652", "fits_everywhere", "dark: "),
    "a request to somebody else": (
        "at('host').textContent = location.host;", "at('host').textContent = location.host;fetch('http://127.0.0.1:9/').catch(() => 0);", "is_quiet", "the browser logs",
    ),
}


def pages(address):
    """Gives each mistake with its check, what it must say, and an answer of the hub that has the mistake. The
    policy names the hashes of the script and the style that are in it, as that of the hub does."""
    hub = http.client.HTTPConnection(address, timeout=30)
    hub.request("GET", "/ui")
    answer = hub.getresponse()
    text, policy = answer.read().decode(), answer.headers["content-security-policy"]
    for what, (good, bad, check, said) in PLANTED.items():
        if text.count(good) != 1:
            raise SystemExit(f"{what} cannot be planted: the page has {text.count(good)} times {good!r}")
        page = text.replace(good, bad)
        for element in "script", "style":
            inside = re.search(rf"<{element}[^>]*>(.*?)</{element}>", page, re.DOTALL)[1]
            digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
            policy = re.sub(rf"{element}-src 'sha256-[^']*'", f"{element}-src 'sha256-{digest}'", policy)
        headers = {"content-type": "text/html; charset=utf-8", "content-security-policy": policy}
        yield what, check, said, {
            "responseCode": 200,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(page.encode()).decode(),
        }
