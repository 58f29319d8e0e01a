"""An agent of A2A, made with its Python SDK, for an agent of an ACCP session to ask.

Usage: server.py [plain]. With `plain` its card says that it does not stream. The first line says its URL.
"""

import asyncio
import socket
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Cook(AgentExecutor):
    def __init__(self):
        self.cancelled = asyncio.Event()

    async def execute(self, context, queue):
        await queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(queue, context.task_id, context.context_id)
        await updater.start_work()
        said = context.get_user_input()
        match said:
            case "burn it":
                await updater.failed(updater.new_agent_message([new_text_part("the soup is burnt")]))
                return
            case "step by step":
                for index, step in enumerate(["wash ", "cut ", "cook"]):
                    await updater.add_artifact(
                        [new_text_part(step)], "steps", append=index > 0, last_chunk=index == 2
                    )
            case "take your time":
                await updater.add_artifact([new_text_part("well, ")], "slow")
                await updater.add_artifact([new_text_part("then")], "slow", append=True)
                await asyncio.Event().wait()
            case "was it cancelled?":
                await self.cancelled.wait()
                await updater.add_artifact([new_text_part("yes")])
            case _:
                await updater.add_artifact([new_text_part(said.upper())])
        await updater.complete()

    async def cancel(self, context, queue):
        self.cancelled.set()
        await TaskUpdater(queue, context.task_id, context.context_id).cancel()


streams = "plain" not in sys.argv
listener = socket.create_server(("127.0.0.1", 0))
url = f"http://127.0.0.1:{listener.getsockname()[1]}"
card = AgentCard(
    name="Cook",
    description="Cooks.",
    version="1",
    supported_interfaces=[AgentInterface(url=f"{url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")],
    capabilities=AgentCapabilities(streaming=streams),
    default_input_modes=["text/plain"],
    default_output_modes=["text/plain"],
    skills=[AgentSkill(id="cook", name="cook", description="Cooks.", tags=["food"])],
)
handler = DefaultRequestHandler(Cook(), InMemoryTaskStore(), card)
routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, "/rpc")
print(f"agent at {url}", flush=True)
uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning")).run(sockets=[listener])
