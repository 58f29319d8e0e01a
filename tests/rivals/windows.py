"""The rivals that keep a list of messages inside a window, or say that they help to.

Each takes the list of one agent as OpenAI messages and gives back pairs: the place in that list, or
None for a message that the rival made, and the message that it would send. What stays is the same
object. A rival is told how a message is counted: o200k_base over the line that the prompt shows, as
the instrument counts. Where it has a token counter of its own as a parameter, it gets that one.
"""

import functools
import html
import json
import pathlib
import tempfile

import adapters

STUB = (
    "The user gave a task. The agent worked on it step by step with its tools, and has not finished "
    "yet. The next step follows from the newest messages."
)


class Windowed:
    """The room is what the window leaves beside the schemas of tools."""

    def __init__(self, room, count):
        self.room, self.count = room, count

    def holds(self, message, now):
        """Says whether the rival keeps what a message says where an agent can read it again.

        `now` is the message as it stands in the prompt, or None.
        """
        return False


def placed(given, back):
    """Gives the places of messages that the rival gives back as the same objects."""
    places = {id(message): place for place, message in enumerate(given)}
    return [(places.get(id(message)), message) for message in back]


class Trim(Windowed):
    """LangChain's `trim_messages`, as its documentation says for a chat history with tool calls."""

    def compress(self, messages):
        from langchain_core.messages import trim_messages

        def count(kept):
            return sum(self.count(messages[int(message.id)]) for message in kept)

        kept = trim_messages(
            as_langchain(messages),
            max_tokens=self.room,
            token_counter=count,
            strategy="last",
            include_system=True,
            start_on="human",
            end_on=("human", "tool"),
            allow_partial=False,
        )
        return [(int(message.id), messages[int(message.id)]) for message in kept]


class Clear(Windowed):
    """LangChain's `ContextEditingMiddleware` with `ClearToolUsesEdit`, from half the window on.

    By default it begins at 100,000 tokens, which is half of a window of 200,000.
    """

    def compress(self, messages):
        from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware
        from langchain.agents.middleware.types import ModelRequest

        def count(kept):
            return sum(self.count(changed(messages, message)) for message in kept)

        middleware = ContextEditingMiddleware(
            edits=[ClearToolUsesEdit(trigger=self.room // 2)], token_counter=count
        )
        request = ModelRequest(model=None, messages=as_langchain(messages))
        edited = middleware.wrap_model_call(request, lambda request: request.messages)
        return [(int(message.id), changed(messages, message)) for message in edited]


class DeepAgents(Windowed):
    """The parts of `deepagents` that keep an agent's list small, with their defaults.

    `FilesystemMiddleware` moves results over 20,000 tokens to a file. The summarization that
    `create_summarization_middleware` makes for a model of this window cuts long arguments of writes,
    and replaces old messages by a summary, from 0.85 of the window on; it keeps 0.10. The summary is
    a fixed text. When the middleware gives up (`ContextOverflowError`), the list is sent as it was.
    """

    def __init__(self, room, count):
        from deepagents.backends import FilesystemBackend
        from deepagents.middleware.filesystem import FilesystemMiddleware
        from deepagents.middleware.summarization import create_summarization_middleware

        super().__init__(room, count)
        self.folder = tempfile.TemporaryDirectory()
        self.backend = FilesystemBackend(root_dir=self.folder.name, virtual_mode=True)
        self.files = FilesystemMiddleware(backend=self.backend)
        self.model = stub(room)
        self.summarization = create_summarization_middleware(
            self.model, self.backend, token_counter=self.total
        )
        self.state, self.evicted, self.given = {}, {}, []

    def total(self, messages, tools=None):
        return sum(self.size(message) for message in messages)

    def size(self, message):
        if message.id is not None and message.id.isdigit():
            return self.count(changed(self.given, message))
        return self.count({"role": "user", "content": message.content})

    def compress(self, messages):
        from langchain.agents.middleware.types import ModelRequest, ModelResponse
        from langchain_core.exceptions import ContextOverflowError
        from langchain_core.messages import AIMessage

        self.given = messages
        read = [self.evict(message) for message in as_langchain(messages)]
        system = read.pop(0) if read and read[0].type == "system" else None
        sent = []

        def handler(request):
            sent[:] = request.messages
            return ModelResponse(result=[AIMessage("Yes.")])

        request = ModelRequest(
            model=self.model, messages=read, system_message=system, tools=[], state=self.state
        )
        try:
            answer = self.summarization.wrap_model_call(request, handler)
        except ContextOverflowError:
            return list(enumerate(messages))
        update = getattr(getattr(answer, "command", None), "update", None) or {}
        for message in update.pop("messages", []):
            self.evicted[message.id] = message
        self.state.update(update)
        shown = [*([system] if system else []), *sent]
        return [self.back(message) for message in shown]

    def evict(self, message):
        if message.id in self.evicted:
            return self.evicted[message.id]
        if message.type == "tool":
            message, _ = self.files._process_large_message(message, self.backend)
            self.evicted[message.id] = message
        return message

    def back(self, message):
        if message.id is not None and message.id.isdigit():
            return int(message.id), changed(self.given, message)
        return None, {"role": "user", "content": message.content}

    def holds(self, message, now):
        root = pathlib.Path(self.folder.name)
        files = [html.unescape(path.read_text()) for path in root.rglob("*") if path.is_file()]
        calls = [call["function"]["arguments"] for call in message.get("tool_calls", [])]
        said = [message.get("content") or "", *(leaf for call in calls for leaf in leaves(call))]
        said = [text for text in said if text]
        return bool(said) and all(any(text in file for file in files) for text in said)


class Headroom(Windowed):
    """`headroom.compress(messages, model=..., model_limit=...)`; the limit is the window."""

    def compress(self, messages):
        import headroom

        back = headroom.compress(messages, model="gpt-4o", model_limit=self.room).messages
        if len(back) != len(messages):
            return placed(messages, back)
        pairs = enumerate(zip(messages, back))
        return [(place, old if new == old else new) for place, (old, new) in pairs]

    def holds(self, message, now):
        original = adapters.Headroom().original(now.get("content")) if now else None
        return original is not None and original == message["content"]


class CtxCompact(Windowed):
    """`ctx_compact.compact`, with its defaults: the first message stays, and the last four."""

    head = 1

    def compress(self, messages):
        from ctx_compact import compact

        kept = compact(
            messages, max_tokens=self.room, count_tokens=self.count, keep_head=self.head
        )
        return placed(messages, kept.messages)


class CtxCompactTask(CtxCompact):
    """The same, told to keep the first two messages: the system prompt and the task."""

    head = 2


class TurnSafe(Windowed):
    """`turnsafe.fit(turnsafe.repair(messages), ...)`, as in its README.

    When it gives up (`ContextBudgetError`), the list is sent as it was.
    """

    first = False

    def compress(self, messages):
        import turnsafe

        try:
            kept = turnsafe.fit(
                turnsafe.repair(messages, provider="openai"),
                max_tokens=self.room,
                provider="openai",
                counter=self.count,
                keep_first_turn=self.first,
            )
        except turnsafe.ContextBudgetError:
            return list(enumerate(messages))
        return in_order(messages, kept)


class TurnSafeFirst(TurnSafe):
    """The same with `keep_first_turn`, "which usually states the task"."""

    first = True


def in_order(given, back):
    """Gives the places of messages that the rival gives back as equal ones, in their order."""
    pairs, place = [], len(given)
    for message in reversed(back):
        found = next((at for at in range(place - 1, -1, -1) if given[at] == message), None)
        place = place if found is None else found
        pairs.append((found, message if found is None else given[found]))
    return pairs[::-1]


def as_langchain(messages):
    """Gives LangChain's messages, with the places as their ids."""
    from langchain_core.messages import convert_to_messages

    return [message_of(convert_to_messages([message])[0], str(at)) for at, message in enumerate(messages)]


def message_of(message, name):
    message.id = name
    return message


def changed(messages, message):
    """Gives the OpenAI message with what was changed of it."""
    given = messages[int(message.id)]
    if message.content == (given.get("content") or ""):
        calls = given.get("tool_calls", [])
        now = [call["args"] for call in getattr(message, "tool_calls", [])]
        if len(now) != len(calls) or all(
            arguments == json.loads(call["function"]["arguments"]) for call, arguments in zip(calls, now)
        ):
            return given
        return {**given, "tool_calls": [cut(*pair) for pair in zip(calls, now)]}
    return {**given, "content": message.content}


def cut(call, arguments):
    text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
    return {**call, "function": {**call["function"], "arguments": text}}


def leaves(text):
    """Gives the texts in arguments."""
    value = json.loads(text) if text.lstrip().startswith("{") else text
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in leaves(json.dumps(inner))]
    return [value] if isinstance(value, str) else []


@functools.cache
def stub(window):
    """Gives a chat model of this window that answers everything with the same summary."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult

    class Stub(BaseChatModel):
        @property
        def _llm_type(self):
            return "stub"

        def _generate(self, messages, stop=None, run_manager=None, **_):
            return ChatResult(generations=[ChatGeneration(message=AIMessage(STUB))])

    return Stub(profile={"max_input_tokens": window})


WINDOWED = {
    "trim_messages": Trim,
    "ClearToolUsesEdit": Clear,
    "deepagents": DeepAgents,
    "headroom-ai": Headroom,
    "ctx-compact": CtxCompact,
    "ctx-compact:head 2": CtxCompactTask,
    "turnsafe.fit": TurnSafe,
    "turnsafe.fit:first": TurnSafeFirst,
}
