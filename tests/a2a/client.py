"""Talks to an agent of an ACCP session (draft section 11.4) through the Python SDK of A2A.

The session is that of the example a2a_server of accp-a2a. Usage: client.py URL
"""

import asyncio
import sys

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.helpers import get_text_parts, new_text_message
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskState,
)
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

ACCP = "application/accp"


def words(text, task=None):
    return SendMessageRequest(message=new_text_message(text, task_id=task, role=Role.ROLE_USER))


def frame(text):
    part = Part(text=text, media_type=ACCP)
    message = Message(message_id=text, role=Role.ROLE_USER, parts=[part])
    return SendMessageRequest(message=message)


def frames(parts):
    return [part.text for part in parts if part.media_type == ACCP]


async def only(updates):
    """The one task that a client gets without a stream."""
    [update] = [update async for update in updates]
    return update.task


async def refused(kind, answer):
    """The error of a call, which must be of this kind."""
    try:
        if hasattr(answer, "__aiter__"):
            async for _ in answer:
                pass
        else:
            await answer
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


async def check_card(http, url):
    card = await A2ACardResolver(http, url).get_agent_card()
    [interface] = card.supported_interfaces
    assert (interface.url, interface.protocol_binding, interface.protocol_version) == (url, "JSONRPC", "1.0")
    assert ACCP in card.default_input_modes and "text/plain" in card.default_output_modes
    assert card.capabilities.streaming and not card.capabilities.push_notifications
    assert any(skill.id == "req:schedule:TA" for skill in card.skills), card.skills
    return card


async def check_tasks(client):
    task = await only(client.send_message(words("hello, cook")))
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, task
    [answer] = task.artifacts
    [text] = frames(answer.parts)
    assert text.startswith("@cook>done:chat{content:HELLO\\,_COOK|schema:CH}["), text
    assert get_text_parts(answer.parts)[-1] == "HELLO, COOK", answer
    assert task.history[0].role == Role.ROLE_USER and "hello, cook" in get_text_parts(task.history[0].parts)

    task = await only(client.send_message(frame("@me>req:schedule{asgn:cook|task:soup|schema:TA}")))
    [text] = frames(task.artifacts[0].parts)
    assert text.startswith("@cook>done:schedule{task:soup|stat:done|schema:TA}["), text
    again = await client.get_task(GetTaskRequest(id=task.id))
    assert again == task, (again, task)
    listed = await client.list_tasks(ListTasksRequest(page_size=1))
    assert (listed.tasks[0].id, listed.total_size) == (task.id, 2) and listed.next_page_token, listed

    failed = await only(client.send_message(words("burn it")))
    assert failed.status.state == TaskState.TASK_STATE_FAILED, failed
    [text] = frames(failed.status.message.parts)
    assert text.startswith("@cook>fail:error{code:E9999|msg:the_soup_is_burnt|"), text


async def check_stream(client):
    updates = [update async for update in client.send_message(words("step by step"))]
    assert updates[0].task.status.state == TaskState.TASK_STATE_SUBMITTED, updates[0]
    id = updates[0].task.id
    pieces = [update.artifact_update for update in updates if update.HasField("artifact_update")]
    *steps, answer = pieces
    texts = [text for piece in steps for text in frames(piece.artifact.parts)]
    heads = [text.split("[")[0] for text in texts]
    assert heads == [
        "@cook>stream:infer{idx:0|d:wash|schema:ST}",
        "@cook>stream:infer{idx:1|d:cut|schema:ST}",
        "@cook>stream:infer{idx:2|d:cook|done:true|schema:ST}",
    ], heads
    assert [piece.last_chunk for piece in steps] == [False, False, True], steps
    assert answer.artifact.artifact_id == "answer", answer
    assert updates[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED, updates[-1]
    task = await client.get_task(GetTaskRequest(id=id))
    stands = [text for artifact in task.artifacts for text in frames(artifact.parts)]
    assert stands[:-1] == texts and stands[-1] == frames(answer.artifact.parts)[0], stands


async def check_cancel(client):
    updates = aiter(client.send_message(words("take your time")))
    id = (await anext(updates)).task.id
    again = aiter(client.subscribe(SubscribeToTaskRequest(id=id)))
    assert (await anext(again)).task.id == id
    cancelled = await client.cancel_task(CancelTaskRequest(id=id))
    assert cancelled.status.state == TaskState.TASK_STATE_CANCELED, cancelled
    for stream in (updates, again):
        states = [update.status_update.status.state async for update in stream]
        assert states[-1] == TaskState.TASK_STATE_CANCELED, states


async def check_errors(client):
    await refused(TaskNotFoundError, client.get_task(GetTaskRequest(id="c0")))
    error = await refused(InvalidParamsError, client.send_message(frame("@me>req:schedule{asgn:cook")))
    assert "E1001 at byte 26" in str(error), error


async def main(url):
    async with httpx.AsyncClient(timeout=30) as http:
        card = await check_card(http, f"{url}")
        whole = ClientFactory(ClientConfig(streaming=False, httpx_client=http)).create(card)
        await check_tasks(whole)
        pieces = ClientFactory(ClientConfig(streaming=True, httpx_client=http)).create(card)
        await check_stream(pieces)
        await check_cancel(pieces)
        for client in (whole, pieces):
            await check_errors(client)


asyncio.run(main(sys.argv[1]))
