"""Drives the MCP server of accp-mcp with the command line of the official Inspector."""

import json
import subprocess
import sys


def inspect(target, *args):
    command = ["inspector", "--cli", *target, *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return json.loads(done.stdout)


def main(url, server):
    for target in [[url, "--transport", "http"], [server, "--stdio"]]:
        tools = inspect(target, "--method", "tools/list", "--strict")["tools"]
        assert len(tools) == 7, tools
        resources = inspect(target, "--method", "resources/list")["resources"]
        assert "application/accp" in [r["mimeType"] for r in resources], resources
        templates = inspect(target, "--method", "resources/templates/list")["resourceTemplates"]
        assert len(templates) == 2, templates
        read = inspect(target, "--method", "resources/read", "--uri", "accp://registry")
        assert "schemas" in json.loads(read["contents"][0]["text"])
        call = ["--method", "tools/call", "--tool-name"]
        frame = "frame=@dev>req:schedule{asgn:cook|task:bread|schema:TA}"
        asked = inspect(target, *call, "accp_ask", "--tool-arg", frame, "timeout=30")
        assert asked["structuredContent"]["answer"]["from"] == "cook", asked
        assert asked["content"][1]["resource"]["mimeType"] == "application/accp", asked
        members = inspect(target, *call, "accp_query", "--tool-arg", "about=members")
        assert {"agent": "cook", "present": True} in members["structuredContent"]["members"], members
        print(f"{target[0].split('/')[-1]}: well")


main(*sys.argv[1:])
