"""How packages that other people wrote differ from the providers' rules. Nothing else may differ.

A difference says on which lists it shows. A package refuses each list on which it is stricter. It takes each list on
which it is laxer, if the fault of the list is the one that it does not look for.
"""

from dataclasses import dataclass
from typing import Any, Callable

Record = dict[str, Any]


@dataclass(frozen=True)
class Difference:
    package: str
    form: str
    stricter: bool
    what: str
    shows: Callable[[Record], bool]


def blocks(message: dict) -> list[dict]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def is_result(message: dict) -> bool:
    return message.get("role") in ("tool", "function")


def faults(*codes: str) -> Callable[[Record], bool]:
    return lambda record: record["kind"] == "planted" and record["fault"] in codes


def is_broken(record: Record) -> bool:
    return record["kind"] == "planted"


# OpenAI chat


def chat_in_flight(record: Record) -> bool:
    """The last calls have not all their results."""
    messages = record["messages"]
    start = len(messages)
    while start and is_result(messages[start - 1]):
        start -= 1
    calls = (messages[start - 1].get("tool_calls") or []) if start else []
    given = {message.get("tool_call_id") for message in messages[start:]}
    return any(call["id"] not in given for call in calls)


def old_result(record: Record) -> bool:
    """The fault is about the result of a `function_call`."""
    if not is_broken(record) or record["fault"] not in ("result-missing", "result-misplaced", "result-repeated", "id-missing"):
        return False
    message = record["messages"][record["at"]]
    return message.get("role") == "function" or "function_call" in message


def system_after(record: Record) -> bool:
    """A system message follows an assistant's or a result."""
    roles = [message.get("role") for message in record["messages"]]
    late = ("assistant", "tool")
    return any(b in ("system", "developer") and a in late for a, b in zip(roles, roles[1:]))


def null_assistant(record: Record) -> bool:
    return faults("text-blank")(record) and record["messages"][record["at"]]["role"] == "assistant"


def missing_before_user(record: Record) -> bool:
    """A call has no result, and no assistant's message follows."""
    if not faults("result-missing")(record):
        return False
    later = record["messages"][record["at"] + 1 :]
    return all(message["role"] != "assistant" for message in later)


def one_result_for_two(record: Record) -> bool:
    """Two calls of one message have one id, and one result or none stands behind them."""
    if not faults("id-repeated")(record):
        return False
    calls = record["messages"][record["at"]]["tool_calls"]
    given = 0
    for message in record["messages"][record["at"] + 1 :]:
        if not is_result(message):
            break
        given += message.get("tool_call_id") == calls[0]["id"]
    return given < 2


def first_is_orphan(record: Record) -> bool:
    return faults("result-orphan")(record) and record["at"] == 0


# Anthropic


def turns(messages: list[dict]) -> list[list[dict]]:
    out: list[list[dict]] = []
    for message in messages:
        if out and out[-1][0]["role"] == message["role"]:
            out[-1].append(message)
        else:
            out.append([message])
    return out


def uses(messages: list[dict]) -> list[str]:
    return [block["id"] for message in messages for block in blocks(message) if block["type"] == "tool_use"]


def results(messages: list[dict]) -> list[str]:
    all_blocks = (block for message in messages for block in blocks(message))
    return [block["tool_use_id"] for block in all_blocks if block["type"] == "tool_result"]


def without_system(record: Record) -> list[dict]:
    return [message for message in record["messages"] if message["role"] != "system"]


def anthropic_in_flight(record: Record) -> bool:
    all_turns = turns(without_system(record))
    for index in (-1, -2):
        if len(all_turns) >= -index and all_turns[index][0]["role"] == "assistant":
            answer = all_turns[-1] if index == -2 else []
            only = all(block["type"] == "tool_result" for message in answer for block in blocks(message))
            only = only and all(blocks(message) for message in answer)
            return only and bool(set(uses(all_turns[index])) - set(results(answer)))
    return False


def apart(record: Record) -> bool:
    """A call stands in a message, and its result is not in the message behind."""
    messages = without_system(record)
    pairs = zip(messages, messages[1:])
    return any(
        results([after]) and (after["role"] != "user" or not set(results([after])) <= set(uses([before])))
        for before, after in pairs
    )


def lax_system(record: Record) -> bool:
    """A system message stands neither before all others nor between a call and its result."""
    if not lax_system_anywhere(record):
        return False
    return record["at"] > 0


def lax_system_anywhere(record: Record) -> bool:
    if not faults("system-inside")(record):
        return False
    before, after = record["messages"][: record["at"]], record["messages"][record["at"] + 1 :]
    return not set(uses(before)) & set(results(after))


def trailing(record: Record) -> bool:
    """The last text ends in white space, and is not blank."""
    if not faults("text-blank")(record):
        return False
    last = record["messages"][record["at"]]
    text = blocks(last)[-1].get("text", "") if blocks(last) else ""
    others = [block["text"] for block in blocks(last) if block["type"] == "text"]
    return bool(text.strip()) and all(text.strip() for text in others)


def server(record: Record) -> bool:
    """The fault is about a tool that Anthropic runs."""
    if not faults("result-missing", "result-orphan")(record):
        return False
    ids = [error.get("id", "") for error in record["errors"]]
    return all(id.startswith("srv_") for id in ids)


def id_in_two_turns(record: Record) -> bool:
    """An id repeats, and its calls are not in one message."""
    if not faults("id-repeated")(record):
        return False
    ids = uses([record["messages"][record["at"]]])
    return len(ids) == len(set(ids))


MISTRAL = [f"mistral-common v{version}" for version in (11, 13, 15)]

ALL = [
    # turnsafe, OpenAI chat
    Difference("turnsafe", "openai", True, "refuses calls in flight at the end", chat_in_flight),
    Difference("turnsafe", "openai", False, "does not look at roles", faults("role")),
    Difference("turnsafe", "openai", False, "does not look at empty lists of calls", faults("calls-empty")),
    Difference("turnsafe", "openai", False, "does not look at null contents", faults("text-blank")),
    Difference("turnsafe", "openai", False, "does not know the old function_call", old_result),
    # turnsafe, Anthropic
    Difference("turnsafe", "anthropic", True, "refuses calls in flight at the end", anthropic_in_flight),
    Difference("turnsafe", "anthropic", False, "does not look at roles", faults("role")),
    Difference("turnsafe", "anthropic", False, "only warns of a list that begins with the assistant", faults("first-not-user")),
    Difference("turnsafe", "anthropic", False, "only warns of a system message that is not the first", lax_system),
    Difference("turnsafe", "anthropic", False, "does not look at white space at the end", trailing),
    Difference("turnsafe", "anthropic", False, "does not look at tools that the provider runs", server),
    # tool-call-repair, OpenAI chat
    Difference("tool-call-repair", "openai", True, "refuses calls in flight at the end", chat_in_flight),
    Difference("tool-call-repair", "openai", False, "does not look at roles", faults("role")),
    Difference("tool-call-repair", "openai", False, "does not look at empty lists of calls", faults("calls-empty")),
    Difference("tool-call-repair", "openai", False, "does not look at null contents", faults("text-blank")),
    Difference("tool-call-repair", "openai", False, "does not know the old function_call", old_result),
    Difference("tool-call-repair", "openai", False, "takes one result for two calls of one id", one_result_for_two),
    # tool-call-repair, Anthropic
    Difference("tool-call-repair", "anthropic", True, "refuses calls in flight at the end", anthropic_in_flight),
    Difference("tool-call-repair", "anthropic", True, "wants all results of a message in the next message, not in the next turn", apart),
    Difference("tool-call-repair", "anthropic", False, "does not look at roles", faults("role")),
    Difference("tool-call-repair", "anthropic", False, "does not look at the first message", faults("first-not-user")),
    Difference("tool-call-repair", "anthropic", False, "does not look at system messages", lax_system_anywhere),
    Difference("tool-call-repair", "anthropic", False, "does not look at texts", faults("text-blank")),
    Difference("tool-call-repair", "anthropic", False, "does not look at tools that the provider runs", server),
    Difference("tool-call-repair", "anthropic", False, "takes an id again in a later message", id_in_two_turns),
]
for package in MISTRAL:
    ALL += [
        Difference(package, "openai", True, "refuses a system message after an assistant's or a result", system_after),
        Difference(package, "openai", False, "does not look at empty lists of calls", faults("calls-empty")),
        Difference(package, "openai", False, "takes an assistant's message with neither content nor calls", null_assistant),
        Difference(package, "openai", False, "misses a result only when an assistant's message follows", missing_before_user),
        Difference(package, "openai", False, "does not look at the first message", first_is_orphan),
    ]
