"""Compares the verdicts of `check` with those of turnsafe, tool-call-repair and mistral-common, and the shapes of
valid and mended lists with the types of the packages openai and anthropic.

Usage: compare.py LISTS, lines of the example `judged_lists`; or compare.py --sweep LISTS, lines of the example
`windows`: all of them are valid, so that differences that show only on broken lists do not have to occur. `-` is the
standard input.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import toolrepair
import turnsafe
from anthropic.types import MessageParam
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.converters import convert_openai_messages
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter, ValidationError

from differences import ALL, Difference


def by_turnsafe(messages: list, form: str) -> bool:
    try:
        return turnsafe.validate(messages, provider=form).ok
    except (TypeError, ValueError):
        # A missing id is refused before the rules run.
        return False


def by_tool_call_repair(messages: list, form: str) -> bool:
    return toolrepair.is_valid(messages, format=form)


def nine(messages: list) -> list | None:
    """Returns the messages in the form of mistral-common, or None where it has no words for them."""
    ids: dict[str, str] = {}

    def short(id: str) -> str:
        return ids.setdefault(id, f"{len(ids):09}") if id else id

    out = []
    for message in messages:
        calls = message.get("tool_calls") or []
        if message.get("role") == "function" or "function_call" in message or any(call["type"] == "custom" for call in calls):
            return None
        message = {key: value for key, value in message.items() if key != "x_extra"}
        if calls:
            message["tool_calls"] = [call | {"id": short(call["id"])} for call in calls]
        if "tool_call_id" in message:
            message["tool_call_id"] = short(message["tool_call_id"])
        out.append(message)
    return out


def by_mistral(version: TokenizerVersion):
    validator = get_validator(version, ValidationMode.agnostic)

    def verdict(messages: list, form: str) -> bool | None:
        shortened = nine(messages)
        if shortened is None:
            return None
        try:
            validator.validate_messages(convert_openai_messages(shortened))
        except (MistralCommonException, ValidationError, ValueError, KeyError):
            return False
        return True

    return verdict


PACKAGES = [
    ("turnsafe", "openai", by_turnsafe),
    ("turnsafe", "anthropic", by_turnsafe),
    ("tool-call-repair", "openai", by_tool_call_repair),
    ("tool-call-repair", "anthropic", by_tool_call_repair),
    ("mistral-common v11", "openai", by_mistral(TokenizerVersion.v11)),
    ("mistral-common v13", "openai", by_mistral(TokenizerVersion.v13)),
    ("mistral-common v15", "openai", by_mistral(TokenizerVersion.v15)),
]

SHAPES = {
    "openai": TypeAdapter(list[ChatCompletionMessageParam]),
    "anthropic": TypeAdapter(list[MessageParam]),
    "responses": TypeAdapter(list[ResponseInputItemParam]),
}


def walk(value: object) -> None:
    """Reads a value to its end: pydantic checks the items of an Iterable only when they are taken."""
    if isinstance(value, Mapping):
        for inner in value.values():
            walk(inner)
    elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        for inner in value:
            walk(inner)


def shape_error(record: dict) -> str | None:
    try:
        walk(SHAPES[record["form"]].validate_python(record["messages"]))
    except ValidationError as error:
        return str(error)[:1500]
    return None


def expected(ours: bool, shows: list[Difference]) -> bool:
    if any(difference.stricter for difference in shows):
        return False
    return ours or bool(shows)


def records_of(path: str) -> Iterator[dict]:
    """Reads one list at a time, because the lists of a sweep do not fit into memory."""
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def main() -> None:
    is_sweep = sys.argv[1] == "--sweep"
    count = 0
    seen: Counter = Counter()
    judged: Counter = Counter()
    same: Counter = Counter()
    wrong = 0
    for record in records_of(sys.argv[-1]):
        count += 1
        ours = not record["errors"]
        for package, form, verdict in PACKAGES:
            if record["form"] != form:
                continue
            theirs = verdict(record["messages"], form)
            if theirs is None:
                judged[package, form, "cannot say"] += 1
                continue
            judged[package, form, "lists"] += 1
            shows = [d for d in ALL if (d.package, d.form) == (package, form) and d.shows(record)]
            if theirs == ours:
                same[package, form] += 1
            else:
                seen.update(shows)
            if theirs != expected(ours, shows):
                wrong += 1
                if wrong <= 5:
                    names = [d.what for d in shows]
                    print(f"{package}, {form}: takes it: {theirs}, ours: {ours}, named: {names}\n{json.dumps(record)}")
        # A wrong role shows that the types refuse at all.
        if ours or record["fault"] == "role":
            error = shape_error(record)
            if (error is None) != ours:
                wrong += 1
                if wrong <= 5:
                    print(f"types, {record['form']}: {error}\n{json.dumps(record)}")
            judged["types", record["form"], "lists" if ours else "wrong roles"] += 1
    for (package, form, what), count in sorted(judged.items()):
        print(f"{package}, {form}: {count} {what}" + (f", {same[package, form]} alike" if (package, form) in same else ""))
    for difference in ALL:
        word = "stricter" if difference.stricter else "laxer"
        if seen[difference] or not is_sweep:
            print(f"  {difference.package}, {difference.form}, {word}: {difference.what}: {seen[difference]}")
    stale = [difference for difference in ALL if not seen[difference] and not is_sweep]
    if wrong or stale or not count:
        sys.exit(f"{wrong} verdicts are not as expected; {len(stale)} named differences do not occur")


main()
