"""Drives the MCP server of accp-mcp with the official SDK for Python."""

import asyncio
import re
import sys

from mcp import Client, MCPError, StdioServerParameters

TOOLS = ["accp_send", "accp_ask", "accp_receive", "accp_reply", "accp_done", "accp_query", "accp_expand"]


def task(assignee, name, **more):
    params = {"assignee": assignee, "task": name}
    return {"intent": "req", "operation": "schedule", "params": params, **more}


def words(result):
    return result.content[0].text


async def works(client, tool, **args):
    result = await client.call_tool(tool, args)
    assert not result.is_error, words(result)
    resource = result.content[1].resource
    assert resource.mime_type == "application/accp", resource
    assert resource.text.startswith("@accp>done:tool{"), resource.text
    return result.structured_content


async def alone(client):
    """What one agent can do beside the cook, who answers tasks."""
    first = client.instructions.splitlines()[0]
    assert re.fullmatch(r"@hub>sync:registry\{hash:[0-9a-f]{6}\|v:1\}|@hub>sync:registry\{v:1\|hash:[0-9a-f]{6}\}", first), first
    assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
    asked = await works(client, "accp_ask", **task("cook", "bread", timeout=30))
    assert asked["answer"]["from"] == "cook", asked
    assert asked["answer"]["params"]["status"] == "done", asked
    sent = await works(client, "accp_send", frame="@dev>req:schedule{asgn:cook| task:cake}")
    assert len(sent["repairs"]) == 2, sent
    budget = await works(client, "accp_query", about="budget")
    assert budget["counted"] and budget["hot"]["used"] > 0, budget
    wrong = await client.call_tool("accp_send", {"intent": "req", "operation": "schedule", "params": {}})
    assert wrong.is_error and "assignee: required" in words(wrong), words(wrong)
    assert wrong.structured_content["error"]["code"] == "E1004"
    resources = (await client.list_resources()).resources
    for resource in resources:
        read = (await client.read_resource(resource.uri)).contents[0]
        assert read.mime_type == resource.mime_type, (read.mime_type, resource)
    frames = [r for r in resources if r.mime_type == "application/accp"]
    assert [r.name for r in frames] == ["hot", "warm"], frames
    try:
        await client.read_resource("accp://session/lunch/frames/999999")
        raise AssertionError("a frame that is not there was read")
    except MCPError:
        pass


async def pair(planner, dev):
    """Two models ask and answer each other."""

    async def answers():
        while True:
            received = await works(dev, "accp_receive", timeout=30)
            for frame in received["frames"]:
                if frame["wants_answer"]:
                    params = {"task": frame["params"]["task"], "status": "complete"}
                    reply = {"id": frame["id"], "intent": "done", "operation": "schedule", "params": params}
                    return await works(dev, "accp_reply", **reply)

    asked, replied = await asyncio.gather(works(planner, "accp_ask", **task("dev", "impl_auth", timeout=30)), answers())
    assert asked["answer"]["params"] == {"task": "impl_auth", "status": "complete"}, asked
    assert replied["replied_to"] == asked["answer"]["id"] or replied["sent"].startswith("@dev>done:schedule{"), replied


async def main(url, server):
    for mode in ["legacy", "auto"]:
        async with Client(url, mode=mode) as client:
            await alone(client)
            version = client.protocol_version
        base = url.rsplit("/", 1)[0]
        async with Client(f"{base}/planner", mode=mode) as planner, Client(url, mode=mode) as dev:
            await pair(planner, dev)
        print(f"HTTP, revision {version}: well")
        async with Client(StdioServerParameters(command=server, args=["--stdio"]), mode=mode) as client:
            await alone(client)
            print(f"stdio, revision {client.protocol_version}: well")


asyncio.run(main(*sys.argv[1:]))
