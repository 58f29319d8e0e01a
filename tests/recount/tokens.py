"""Counts tokens as o200k_base does, from the vocabulary that the crate tiktoken-rs carries."""

import base64
import functools
import glob
import os
import re
import sys
import unicodedata

CONTRACTION = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"


def classes():
    """Gives the ranges of letters, of upper and of lower letters, and of numbers, for a pattern."""
    ranges = {"L": [], "N": [], "U": [], "l": []}
    for code in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))
        member = {
            "L": kind[0] == "L",
            "N": kind[0] == "N",
            "U": kind in ("Lu", "Lt", "Lm", "Lo") or kind[0] == "M",
            "l": kind in ("Ll", "Lm", "Lo") or kind[0] == "M",
        }
        for name, inside in member.items():
            if inside and ranges[name] and ranges[name][-1][1] == code - 1:
                ranges[name][-1][1] = code
            elif inside:
                ranges[name].append([code, code])
    return {
        name: "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in found)
        for name, found in ranges.items()
    }


@functools.cache
def pattern():
    c = classes()
    before = f"[^\\r\\n{c['L']}{c['N']}]?"
    return re.compile(
        f"{before}[{c['U']}]*[{c['l']}]+{CONTRACTION}"
        f"|{before}[{c['U']}]+[{c['l']}]*{CONTRACTION}"
        f"|[{c['N']}]{{1,3}}"
        f"| ?[^\\s{c['L']}{c['N']}]+[\\r\\n/]*"
        "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
    )


@functools.cache
def ranks():
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    found = glob.glob(f"{home}/registry/src/*/tiktoken-rs-*/assets/o200k_base.tiktoken")
    if not found:
        sys.exit("the crate tiktoken-rs is not here: run `cargo fetch` first")
    with open(found[0], "rb") as file:
        lines = (line.split() for line in file)
        return {base64.b64decode(token): int(rank) for token, rank in lines}


@functools.lru_cache(maxsize=1 << 20)
def piece(text):
    """Splits one piece of the pattern into tokens: the pair of the lowest rank joins first."""
    parts = [bytes([byte]) for byte in text.encode("utf-8", "surrogatepass")]
    if b"".join(parts) in ranks():
        return (b"".join(parts),)
    while len(parts) > 1:
        pairs = [ranks().get(a + b, 1 << 30) for a, b in zip(parts, parts[1:])]
        at = min(range(len(pairs)), key=pairs.__getitem__)
        if pairs[at] == 1 << 30:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return tuple(parts)


@functools.lru_cache(maxsize=1 << 14)
def tokens(text):
    """Gives the tokens of a text, as bytes."""
    return tuple(token for found in pattern().findall(text) for token in piece(found))


@functools.lru_cache(maxsize=1 << 16)
def count(text):
    return len(tokens(text))
