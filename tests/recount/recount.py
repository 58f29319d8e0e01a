#!/usr/bin/env python3
"""Recounts net cost from a dump, apart from the instrument.

    accp-lab bench chats.jsonl --dump prompts.jsonl --format json > rows.jsonl
    python3 tests/recount/recount.py prompts.jsonl
    python3 tests/recount/recount.py prompts.jsonl --rows rows.jsonl

Prints a line of JSON for each corpus and policy. With --rows, fails where the instrument says
something else. The rules are those of `accp-lab bench --help`; the conversations are the
originals of the policy `list` in the dump. Pictures are not recounted.
"""

import argparse
import bisect
import functools
import itertools
import json
import math
import re
import sys
from collections import defaultdict

from tokens import count, tokens

CACHED, FRESH, OUTPUT, MINIMUM, WINDOW = 0.1, 1.25, 5.0, 1024, 800
HEAD, TAIL = 1333, 667
AROUND = 4
SAME = ["net", "net_real", "lost", "seen", "task", "later", "did", "decided", "misquoted"]
SAME += ["tokens", "p95", "peak", "cost"]
INSIDE = ["over_window", "intent"]

DECISION = re.compile(
    r"(?<!\w)(?:must|should|need to|needs to|have to|has to|cannot|can't|won't|will|I'll|let's"
    "|decided|decide|instead|therefore|because|found|shows|means|confirmed|confirms|indicates"
    "|turns out|the issue is|the problem is|the cause|fails|failed|fixed|next step|plan is)(?!\\w)"
)
ACTIONS = """added changed clicked closed created deleted downloaded edited entered fixed hovered
opened ran removed scrolled searched selected typed visited wrote""".split()
OBSERVATIONS = """Here is a screenshot of
The following metadata was extracted from the webpage
Automatic OCR of the page screenshot
Viewport position: Showing page
Observation:
The script ran, then exited with
exitcode: 
<function_results>""".split("\n")


# Texts. A text is a string of atoms: each word, other sign and space is one character of it, so
# that a text that stands in another at the bounds of words is a substring.

END = "\0"
ATOMS = {END: END}
SPELLED = [END]
SPACE_OR_NOTHING = re.compile("[\0\\s\u200b\u200c\u200d\u2060\ufeff]+")
ATOM = re.compile("[\0\\s\u200b\u200c\u200d\u2060\ufeff]+|\\w+|.", re.DOTALL)
CODES = re.compile("\x1b\\[[ -?]*[@-~]")
GUARD = re.compile(r"^\\(?=\\*[@\[])", re.MULTILINE)
ESCAPE = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@functools.lru_cache(maxsize=1 << 18)
def atoms(text):
    """Gives a text with one space for all white space, as a string with a character an atom."""
    out = []
    for word in re.findall(r"\w+|\W", SPACE_OR_NOTHING.sub(" ", text).strip()):
        if word not in ATOMS:
            code = len(ATOMS)
            ATOMS[word] = chr(code if code < 0xD800 else code + 0x800)
            SPELLED.append(word)
        out.append(ATOMS[word])
    return "".join(out)


@functools.lru_cache(maxsize=1 << 16)
def words_of(text):
    codes = (ord(atom) for atom in text)
    return [SPELLED[code if code < 0xD800 else code - 0x800] for code in codes]


def plain(text):
    """Gives a text of atoms as it is spelled."""
    return "".join(words_of(text))


@functools.lru_cache(maxsize=1 << 16)
def ends(text):
    """Gives the place behind each atom, in characters, with 0 before them."""
    return [0, *itertools.accumulate(map(len, words_of(text)))]


@functools.lru_cache(maxsize=1 << 12)
def placed(text):
    """Gives from where to where each atom stands in a text."""
    found = [(m.start(), m.end(), m.group()) for m in ATOM.finditer(text)]
    spaces = [bool(SPACE_OR_NOTHING.fullmatch(word)) for _, _, word in found]
    low = 1 if spaces[:1] == [True] else 0
    high = len(found) - (1 if spaces[-1:] == [True] else 0)
    return [(start, end) for start, end, _ in found[low:high]]


def parsed(text):
    """Gives the value of a text that is an object or an array of JSON."""
    if text.strip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def leaves(value):
    """Gives the scalars of JSON, and whether each is whole: a string of JSON is taken apart."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, str) and (inner := parsed(value)) is not None:
        yield value, False
        yield from leaves(inner)
    else:
        yield value, True


def spelling(value):
    return value if isinstance(value, str) else json.dumps(value)


def scalars(value):
    return [spelling(leaf) for leaf, whole in leaves(value) if whole]


def unescaped(text):
    def sign(found):
        code, letter = found.groups()
        return chr(int(code, 16)) if code else ESCAPES.get(letter, letter)

    return ESCAPE.sub(sign, text)


@functools.lru_cache(maxsize=1 << 16)
def reading(text):
    """Gives the texts as which a prompt's segment is read, each with an end."""
    value = parsed(text)
    if value is not None:
        read = [spelling(leaf) for leaf, _ in leaves(value)]
    else:
        read = [text, GUARD.sub("", text)]
        for _ in range(3):
            read.append(unescaped(read[-1]))
        read = list(dict.fromkeys(read))
    return "".join(atoms(CODES.sub("", text)) + END for text in read)


SPACE = atoms("a b")[1]


# Conversations.


class Message:
    def __init__(self, index, original):
        value = json.loads(original)
        self.index, self.role = index, value["role"]
        self.agent = value.get("name") or self.role if self.is_agent() else None
        self.calls = []
        for call in value.get("tool_calls") or []:
            call = call.get("function", call)
            given = call.get("arguments")
            inner = parsed(given) if isinstance(given, str) else None
            self.calls.append((call["name"], given if inner is None else inner))
        content = value.get("content") or []
        parts = [{"text": content}] if isinstance(content, str) else content
        texts = [part["text"] for part in parts if "text" in part]
        given = [leaf for _, given in self.calls for leaf, whole in leaves(given) if whole]
        self.contents, self.texts = len(texts), [CODES.sub("", text) for text in texts]
        pieces = texts + [leaf for leaf in given if isinstance(leaf, str)]
        self.pieces = [CODES.sub("", piece) for piece in pieces]
        self.atoms = [atoms(piece) for piece in self.pieces]
        self.text = "\n".join(self.pieces)
        lengths = [len(piece) + 1 for piece in self.pieces]
        self.starts = [sum(lengths[:at]) for at in range(len(lengths))]
        self.content = "\n".join(self.texts)
        self.blocks = list(code_blocks(self.content))
        seen = [at for start in OBSERVATIONS if (at := self.content.find(start)) >= 0]
        self.observed = min(seen, default=len(self.content))

    def says(self, text):
        return any(text in piece for piece in self.atoms)

    def is_agent(self):
        return self.role in ("assistant", "agent")


class Prompt:
    def __init__(self, line):
        self.turn, self.agent = line["turn"], line["agent"]
        self.segments = [segment for segment in line["segments"] if segment["text"]]
        self.readings = [reading(segment["text"]) for segment in self.segments]
        self.all = "".join(self.readings)
        texts = [segment["text"] for segment in self.segments]
        if line.get("list"):
            kinds = [segment["kind"] for segment in self.segments]
            self.parts = [listed(text, kind, self.agent) for text, kind in zip(texts, kinds)]
        else:
            parts = parts_of(texts)
            self.parts = [(part, part, 0 if at else AROUND) for at, part in enumerate(parts)]
        self.tokens = sum(count(billed) + beside for _, billed, beside in self.parts)

    def shows(self, text):
        return text in self.all


def listed(text, kind, agent):
    """Gives a message of an agent's list: as it is sent, the text that is billed, and the tokens around it."""
    if kind == "tools":
        return text, text, 0
    message = json.loads(text)
    speaks = message["role"] in ("agent", "assistant") and (message.get("name") or message["role"])
    return ("own " + text if speaks == agent else text), billed(text), AROUND


@functools.lru_cache(maxsize=1 << 16)
def billed(text):
    """Gives the name, the texts and the calls of a message, as a provider bills them."""
    message = json.loads(text)
    parts = [message["name"]] if isinstance(message.get("name"), str) else []
    content = message.get("content") or []
    content = [{"text": content}] if isinstance(content, str) else content
    parts += [part["text"] for part in content if isinstance(part.get("text"), str)]
    for call in message.get("tool_calls") or []:
        call = call.get("function", call)
        parts += [call["name"]] if isinstance(call.get("name"), str) else []
        given = call.get("arguments")
        if isinstance(given, str):
            parts.append(given)
        elif "arguments" in call:
            parts.append(json.dumps(given, ensure_ascii=False, separators=(",", ":")))
    return "\n".join(parts)


def parts_of(texts):
    """Joins texts where a token can reach from one into the next; the tokens stay the same."""
    parts = []
    for text in texts:
        if parts and not (parts[-1].endswith("\n") and re.match(r"[^\s/]", text)):
            parts[-1] += text
        else:
            parts.append(text)
    return parts


def load(path):
    """Gives the conversations of a dump: messages, and prompts of each policy."""
    conversations = {}
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            key = line["corpus"], line["conversation"]
            messages, prompts = conversations.setdefault(key, ({}, defaultdict(list)))
            if "segments" in line:
                prompts[line["policy"]].append(Prompt(line))
            elif "original" in line and line["policy"] == "list":
                messages[line["message"]] = Message(line["message"], line["original"])
    return conversations


# Needs.


class Need:
    """A text that a turn needs, with its place in the source; or a message at first sight."""

    def __init__(self, text, source, place, real=True):
        self.text, self.source, self.place, self.real = text, source, place, real


def needs(messages, turn, systems, makes_calls):
    """Gives what the message of a turn needed, each text once."""
    message = messages[turn]
    earlier = [messages[at] for at in sorted(messages) if at < turn]
    earlier = [other for other in earlier if other.role != "system"]
    found = list(quotes(message, earlier)) + list(arguments(message))
    if not makes_calls:
        found += identifiers(message)
    kinds = defaultdict(set)
    for text, kind in found:
        kinds[text].add(kind)
    for text, kinds_of_text in kinds.items():
        source = next((other for other in reversed(earlier) if other.says(text)), None)
        if source is None or any(system.says(text) for system in systems):
            continue
        own = source.agent == message.agent
        real = "command" in kinds_of_text or not (own or kinds_of_text == {"observation"})
        yield Need(text, source, place_of(source, text), real)


def kind_of(message, piece, at):
    """Says what a text is by its beginning: words, a command, or what a recording observed."""
    if piece >= message.contents:
        return "command"
    at += message.starts[piece]
    if at >= message.observed:
        return "observation"
    return "command" if any(start <= at < end for start, end in message.blocks) else "words"


def place_of(message, text):
    """Gives the first place of a text in a message: from and to, in characters."""
    for piece, start in zip(message.pieces, message.starts):
        at = atoms(piece).find(text)
        if at >= 0:
            places = placed(piece)
            return start + places[at][0], start + places[at + len(text) - 1][1]


def quotes(message, earlier):
    """Gives the longest spans of whole words that an earlier message has, from left to right."""
    said = END.join(piece for other in earlier for piece in other.atoms)
    for number, piece in enumerate(message.atoms):
        places, at = ends(piece), 0
        while at < len(piece):
            span = piece[at : at + longest(piece, at, said)].rstrip(SPACE)
            length = places[at + len(span)] - places[at]
            if piece[at] != SPACE and length >= 24 and any(map(str.isalpha, plain(span))):
                start = placed(message.pieces[number])[at][0]
                yield span, kind_of(message, number, start)
                at += len(span)
            else:
                at += 1


def longest(piece, at, said):
    """Gives how many atoms from a place on stand elsewhere: doubled, then halved."""
    size, step = 0, 1
    while at + size + step <= len(piece) and piece[at : at + size + step] in said:
        size, step = size + step, step * 2
    while step > 1:
        step //= 2
        if at + size + step <= len(piece) and piece[at : at + size + step] in said:
            size += step
    return size


def arguments(message):
    """Gives the strings and numbers of 3 to 60 characters in arguments."""
    for _, given in message.calls:
        for leaf, whole in leaves(given):
            if whole and leaf is not None and not isinstance(leaf, bool):
                text = atoms(spelling(leaf))
                if 3 <= ends(text)[-1] <= 60:
                    yield text, "command"


def identifiers(message):
    """Gives words with a digit, a slash or a capital after a small letter."""
    for number, piece in enumerate(message.pieces):
        for found in re.finditer(r"[\w\-./\\@#$~+]+", piece):
            word = re.sub(r"^[\W_]+|[\W_]+$", "", found.group())
            pairs = zip(word, word[1:])
            inner = any(a.islower() and b.isupper() for a, b in pairs)
            if 3 <= len(word) <= 60 and (inner or re.search(r"[\d/]", word)):
                start = found.start() + found.group().index(word)
                yield atoms(word), kind_of(message, number, start)


# First sight.


def shown_whole(prompt, message):
    """Says whether a message that is new to an agent stands in its prompt."""
    keys = set(keys_of(message))
    stand = [key for key in keys if prompt.shows(key)]
    if sum(map(size_of, stand)) * 100 < sum(map(size_of, keys)) * 98:
        return False
    own = [at for at, of in enumerate(prompt.segments) if of.get("message") == message.index]
    every = range(len(prompt.segments))
    return bool(own) and stands_in(prompt, own, message) or stands_in(prompt, every, message)


def stands_in(prompt, segments, message):
    """Says whether the lines of a message stand in these segments, and enough of them in order."""
    characters = standing = following = breaks = 0
    before = None
    for line, first in required(message):
        size = size_of(line)
        characters += size
        places = where(prompt, line, segments)
        standing += size if places else 0
        if first:
            following += size if places else 0
        elif follows(before, places):
            following += size
        else:
            breaks += 1
        before = places
    return standing * 100 >= characters * 98 and (breaks <= 4 or following * 2 >= characters)


def size_of(text):
    return ends(text)[-1]


def follows(before, after):
    """Says whether a line begins at most 120 characters behind the line before it."""
    for segment, (starts, _) in after.items():
        for stop in before.get(segment, ([], []))[1]:
            at = bisect.bisect_left(starts, stop)
            if at < len(starts) and starts[at] <= stop + 120:
                return True
    return False


def where(prompt, line, segments=None):
    """Gives where a line begins and where it ends, segment by segment, in characters."""
    out = {}
    if line not in prompt.all:
        return out
    for number in range(len(prompt.readings)) if segments is None else segments:
        read = prompt.readings[number]
        found, at = [], read.find(line)
        while at >= 0:
            found.append(at)
            at = read.find(line, at + 1)
        if found:
            places = ends(read)
            out[number] = [places[at] for at in found], [places[at + len(line)] for at in found]
    return out


@functools.lru_cache(maxsize=1 << 12)
def required(message):
    """Gives the lines that have to stand, and whether each is the first of its part."""
    out = []
    for low, high in sight_windows(message):
        start, stop = span(message.text, low, high)
        found = [atoms(line) for line, _ in lines(message, start, stop)]
        found = [line for line in found if re.search(r"\w", plain(line))]
        out += [(line, at == 0) for at, line in enumerate(found)]
    return out


@functools.lru_cache(maxsize=1 << 12)
def keys_of(message):
    """Gives the keys under which the scalars stand that have to stand."""
    parts = [span(message.text, low, high) for low, high in sight_windows(message)]
    found = [keys for start, stop in parts for _, keys in lines(message, start, stop)]
    texts = {atoms(key) for keys in found for key in keys}
    return [text for text in texts if re.search(r"\w", plain(text))]


def sight_windows(message):
    """Gives the tokens of a message, or of more than 2,000 its first 1,333 and last 667."""
    size = count(message.text)
    return [(0, size)] if size <= HEAD + TAIL else [(0, HEAD), (size - TAIL, size)]


def lines(message, start, stop):
    """Gives the lines of a message, or of JSON of its scalars with their keys, in a part of it."""
    for piece, first in zip(message.pieces, message.starts):
        value, at = parsed(piece), 0
        if value is not None:
            for keys, leaf in keyed(value):
                found = piece.find(json.dumps(leaf, ensure_ascii=False)[1:-1], at)
                at = found if found >= 0 else at
                if start <= first + at < stop:
                    yield from ((without_number(line), keys) for line in leaf.splitlines())
            continue
        for line in piece.splitlines(keepends=True):
            low, high = max(start - first - at, 0), min(stop - first - at, len(line))
            if low < high:
                part = line[low:high]
                if low and re.match(r"\w", line[low - 1]):
                    part = re.sub(r"^\w+", "", part)
                if re.match(r"\w", line[high : high + 1]):
                    part = re.sub(r"\w+$", "", part)
                yield without_number(part), ()
            at += len(line)


def keyed(value, keys=()):
    """Gives the scalars of JSON, each with the keys under which it stands."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from keyed(inner, (*keys, key))
    elif isinstance(value, list):
        for inner in value:
            yield from keyed(inner, keys)
    elif isinstance(value, str) and (inner := parsed(value)) is not None:
        yield from keyed(inner, keys)
    else:
        yield keys, spelling(value)


def without_number(line):
    found = re.fullmatch(r"[0-9]{1,6}[:|\t→\- ]\s*(\S.*)", line.strip(), re.DOTALL)
    return found.group(1) if found else line


# Fates, fetching and prices.

PHRASE = re.compile(r"(?<!\w)messages? ([0-9]+)(?: to ([0-9]+))?(?!\w)")


@functools.lru_cache(maxsize=1 << 16)
def handles(read):
    """Gives the messages that a segment names, as ranges."""
    found = re.findall(r"(?<!\w)p(\d+)(?:(?:-|\.\.)p?(\d+)|(?!\w))", plain(read))
    found += PHRASE.findall(plain(read))
    return [(int(low), int(high or low)) for low, high in found]


@functools.lru_cache(maxsize=1 << 16)
def clues(text):
    """Gives the words of five letters and the numbers of two digits; handles are none."""
    words = re.findall(r"[^\W_]+", text)
    words = [word for word in words if not re.fullmatch("p[0-9]+", word)]
    return {clue for word in words for clue in re.findall(r"[^\W\d_]{5,}|[0-9]{2,}", word)}


def findable(prompt, need):
    """Says whether a segment has a handle of the source and, beside it, a clue."""
    source = need.source
    low, high = need.place
    near = clues(source.text[max(0, low - 100) : high + 100])
    for segment, read in zip(prompt.segments, prompt.readings):
        if segment.get("message") is not None:
            named = segment["message"] == source.index
        elif segment["kind"] in ("system", "tools", "primer"):
            named = False
        else:
            named = any(low <= source.index <= high for low, high in handles(read))
        told = plain(read) if segment.get("message") is not None else PHRASE.sub("\0", plain(read))
        if named and not near.isdisjoint(clues(told)):
            return True
    return False


def windows_of(need):
    """Gives the tokens of the source to fetch: from and to."""
    if need.text is None:
        return sight_windows(need.source)
    text, size = need.source.text, count(need.source.text)
    if size <= WINDOW:
        return [(0, size)]
    stops = list(itertools.accumulate(map(len, tokens(text))))
    start, stop = (len(text[:at].encode()) for at in need.place)
    first = bisect.bisect_right(stops, start)
    last = bisect.bisect_left(stops, stop) + 1
    if last - first >= WINDOW:
        return [(first, last)]
    low = min(max(0, first + last - WINDOW) // 2, size - WINDOW)
    return [(low, low + WINDOW)]


def span(text, low, high):
    """Gives the characters of a text from one token to another."""
    split = tokens(text)
    return tuple(len(b"".join(split[:at]).decode("utf-8", "ignore")) for at in (low, high))


class Agent:
    """What an agent fetched, and carries in all later prompts."""

    def __init__(self):
        self.texts, self.tokens = [], 0

    def holds(self, text):
        return any(text in window for window in self.texts)

    def fetch(self, misses):
        """Fetches the windows of a turn's misses, and gives their tokens."""
        wanted = defaultdict(list)
        for miss in misses:
            wanted[miss.source] += windows_of(miss)
        size = 0
        for source, windows in wanted.items():
            for low, high in merged(windows):
                start, stop = span(source.text, low, high)
                self.texts.append(atoms(source.text[start:stop]))
                size += high - low
        self.tokens += size
        return size


def merged(windows):
    out = []
    for low, high in sorted(windows):
        if out and low < out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], high)
        else:
            out.append((low, high))
    return out


def recovery(prompt, misses, lost, agent):
    """Gives what it costs to carry windows, and to fetch all misses of a turn."""
    held = prompt.tokens + agent.tokens
    reading = held * (CACHED if held >= MINIMUM else FRESH)
    cost = CACHED * agent.tokens
    if misses:
        cost += reading + 40 * OUTPUT * len({miss.source for miss in misses})
        cost += FRESH * agent.fetch(misses)
    if lost:
        cost += reading + (40 * OUTPUT + 300 * FRESH) * len({miss.source for miss in lost})
    return cost


def prompt_cost(prompt, newest):
    kept = max((beginning(prompt.parts, other.parts) for other in newest), default=0)
    kept = kept if kept >= MINIMUM else 0
    return CACHED * kept + FRESH * (prompt.tokens - kept)


def beginning(parts, others):
    """Gives the tokens with which both prompts begin."""
    size = 0
    for (sent, billed, beside), (other, of_other, _) in zip(parts, others):
        if sent != other:
            pairs = zip(tokens(billed), tokens(of_other))
            same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
            return size + (same + beside if same else 0)
        size += count(billed) + beside
    return size


# What prompts still say.


def sentences(text):
    """Gives the parts of lines that end with the line or a mark before white space."""
    for line in text.split("\n"):
        for part in re.split(r"(?<=[.!?])(?=\s)", line):
            if len(re.findall(r"\w+", part)) >= 4:
                yield part.strip()


def code_blocks(content):
    """Gives where the insides of code blocks begin and end."""
    at, start = 0, None
    for line in content.splitlines(keepends=True):
        if line.lstrip().startswith("```"):
            if start is not None:
                yield start, at
            start = None if start is not None else at + len(line)
        at += len(line)
    if start is not None:
        yield start, at


def own_sentences(message):
    """Gives the sentences outside code blocks and observations."""
    at = 0
    for start, end in message.blocks + [(len(message.content), 0)]:
        yield from sentences(message.content[at : min(start, message.observed)])
        at = end


def opening(text):
    """Gives the first 200 characters of a text, to the end of a word."""
    text = plain(atoms(text))
    return atoms(text if len(text) <= 200 else text[: text[:200].rfind(" ")])


def texts_done(message):
    done = [message.content[start:end] for start, end in message.blocks]
    for sentence in own_sentences(message):
        first, *rest = sentence.split() + [""]
        if first == "I" and rest[0] in ACTIONS:
            done.append(sentence)
    return [opening(text) for text in done]


def texts_decided(message):
    found = (text for text in own_sentences(message) if DECISION.search(text))
    return [atoms(text) for text in found]


def call_stands(prompt, name, given):
    """Says whether a tool's name stands with the first lines of its arguments near behind it."""
    told = scalars(given)
    reach = 200 + 3 * sum(map(len, told))
    firsts = [leaf.strip().splitlines()[0] for leaf in told if leaf.strip()]
    firsts = [opening(line) for line in firsts if line not in ("true", "false", "null")]
    firsts = [line for line in firsts if re.search(r"\w", plain(line))]
    starts = {line: where(prompt, line) for line in firsts}
    for segment, (places, _) in where(prompt, atoms(name)).items():
        for at in places:
            if all(is_near(starts[line].get(segment), at, reach) for line in firsts):
                return True
    return False


def is_near(places, at, reach):
    return places is not None and any(at <= place < at + reach for place in places[0])


@functools.lru_cache(maxsize=1 << 12)
def runs(text):
    words = re.findall(r"\w+", text)
    return ["\0".join(words[at : at + 4]) for at in range(len(words) - 3)]


def runs_said(messages):
    said = set()
    for piece in (piece for message in messages.values() for piece in message.pieces):
        said.update(runs(piece))
        if (value := parsed(piece)) is not None:
            said.update(runs(" ".join(scalars(value))))
    return said


def runs_in_facts(prompt):
    for segment in prompt.segments:
        if segment["kind"] == "facts":
            for part in re.split(r"\n|\.\.|[|;={}\[\]]", segment["text"]):
                yield from runs(part)


# The rows.


class Row:
    def __init__(self, window):
        self.sums = defaultdict(float)
        self.sizes = []
        self.window = window

    def add(self, key, value, all_of):
        self.sums[key] += value
        self.sums[key, "of"] += all_of

    def share(self, key):
        return self.sums[key] / self.sums[key, "of"] if self.sums[key, "of"] else None

    def figures(self, base):
        sizes = sorted(self.sizes)
        cost = {key: self.sums["cost"] + self.sums[key] for key in ("net", "net_real")}
        whole = {key: base.sums["cost"] + base.sums[key] for key in cost}
        return {
            **{key: cost[key] / whole[key] for key in cost},
            **{key: self.share(key) for key in SAME[2:9]},
            "tokens": sum(sizes),
            "p95": sizes[math.ceil(0.95 * len(sizes)) - 1],
            "peak": sizes[-1],
            "cost": self.sums["cost"] / base.sums["cost"],
            "over_window": sum(size > self.window for size in sizes),
            "intent": self.share("intent"),
        }


def measure(messages, base, prompts, row):
    """Adds the prompts of one policy in one conversation to a row."""
    agents = {prompt.turn: prompt.agent for prompt in base}
    callers = {agents[at] for at in agents if messages[at].calls}
    said, memory = runs_said(messages), Memory(messages, agents)
    newest, last = {}, {}
    strict, only_real = defaultdict(Agent), defaultdict(Agent)
    users = [messages[at] for at in sorted(messages) if messages[at].role == "user"]
    intent = [text for text in users[0].texts if text.strip()] if users else []
    intent = [{atoms(text), atoms(quotation(text))} for text in intent]
    for prompt, whole in zip(prompts, base):
        agent, turn = prompt.agent, prompt.turn
        visible = [messages[segment["message"]] for segment in whole.segments if "message" in segment]
        new = [message for message in visible if message.index > last.get(agent, -1)]
        unseen = [message for message in new if not shown_whole(prompt, message)]
        row.add("seen", len(new) - len(unseen), len(new))
        sights = [Need(None, message, (0, len(message.text))) for message in unseen]
        systems = [message for message in visible if message.role == "system"]
        found = list(needs(messages, turn, systems, agent in callers))
        misses = [need for need in found if not prompt.shows(need.text)]
        lost = {need for need in sights + misses if not findable(prompt, need)}
        missing = [need for need in misses if not strict[agent].holds(need.text)]
        row.add("lost", len(lost.intersection(missing)), len(found))
        row.sums["net"] += fetched(prompt, sights + missing, lost, strict[agent])
        missing = [need for need in misses if need.real and not only_real[agent].holds(need.text)]
        row.sums["net_real"] += fetched(prompt, sights + missing, lost, only_real[agent])
        row.sums["cost"] += prompt_cost(prompt, newest.values())
        row.sizes.append(prompt.tokens)
        if intent and turn > users[0].index:
            row.add("intent", all(any(map(prompt.shows, forms)) for forms in intent), 1)
        for key, told in memory.before(turn, agent):
            row.add(key, told(prompt), 1)
        facts = list(runs_in_facts(prompt))
        row.add("misquoted", sum(run not in said for run in facts), len(facts))
        newest[agent], last[agent] = prompt, turn


def quotation(text):
    return "\n".join(f"> {line}" for line in text.strip().split("\n"))


def fetched(prompt, misses, lost, agent):
    return recovery(prompt, misses, lost.intersection(misses), agent)


class Memory:
    """What was said: the task, other words of users, and actions and decisions of agents."""

    def __init__(self, messages, agents):
        self.told = []
        known = set()
        spoken = [messages[at] for at in sorted(messages) if messages[at].role != "system"]
        users = [message for message in spoken if message.role == "user"]
        task = (users or spoken)[0]
        for message in spoken:
            at = message.index
            if message is task or message in users:
                key = "task" if message is task else "later"
                texts = [atoms(text) for piece in message.pieces for text in sentences(piece)]
                self.add(known, None, at, key, texts)
            if at in agents:
                self.add(known, agents[at], at, "did", texts_done(message))
                self.add(known, agents[at], at, "decided", texts_decided(message))
                for name, given in message.calls:
                    call = functools.partial(call_stands, name=name, given=given)
                    self.told.append((at, agents[at], "did", call))

    def add(self, known, agent, at, key, texts):
        """Adds texts that the agent, or a user, said for the first time."""
        kind = "words" if agent is None else key
        for text in texts:
            if (agent, kind, text) not in known and re.search(r"\w", plain(text)):
                known.add((agent, kind, text))
                shows = functools.partial(lambda prompt, text: prompt.shows(text), text=text)
                self.told.append((at, agent, key, shows))

    def before(self, turn, agent):
        """Gives what stood before a turn, each with its key."""
        for at, who, key, told in self.told:
            if at < turn and who in (None, agent):
                yield key, told


def rows(conversations, window):
    found = {}
    for (corpus, _), (messages, policies) in conversations.items():
        for policy, prompts in policies.items():
            row = found.setdefault((corpus, policy), Row(window))
            measure(messages, policies["list"], prompts, row)
    return [
        {"corpus": corpus, "policy": policy, **row.figures(found[corpus, "list"])}
        for (corpus, policy), row in found.items()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dump")
    parser.add_argument("--rows", help="what `accp-lab bench --format json` printed")
    args = parser.parse_args()
    said, window = {}, math.inf
    if args.rows:
        with open(args.rows, encoding="utf-8") as file:
            said = {(row["corpus"], row["policy"]): row for row in map(json.loads, file)}
        window = max((row.get("window", math.inf) for row in said.values()), default=math.inf)
    recounted = rows(load(args.dump), window)
    for row in recounted:
        print(json.dumps(row))
    if args.rows:
        differences = [
            f"{row['corpus']} {row['policy']} {key}: recounted {row[key]}, said {theirs[key]}"
            for row in recounted
            for theirs in [said[row["corpus"], row["policy"]]]
            for key in SAME + (INSIDE if "window" in theirs else [])
            if not same(row[key], theirs[key])
        ]
        sys.exit("\n".join(differences) or None)


def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return abs(ours - theirs) < 5e-5


if __name__ == "__main__":
    main()
