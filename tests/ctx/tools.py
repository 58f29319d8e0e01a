"""Checks the definitions of the tools with the types of the packages openai and anthropic, and their schemas with
jsonschema, which also says whether it accepts arguments that a model might write.

Usage: tools.py ACCP, the command.
"""

import json
import subprocess
import sys

from anthropic.types import ToolParam
from jsonschema import Draft202012Validator, SchemaError
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

TYPES = {"openai": ChatCompletionFunctionToolParam, "anthropic": ToolParam, "responses": FunctionToolParam}
# Arguments, by tool: those that fit, and those that do not.
ARGUMENTS = {
    "context_read": ([{"path": "cache/a.md"}, {"path": "cache/a.md", "first": 2, "last": 9, "offset": 0}],
                     [{}, {"path": 1}, {"path": "a", "first": 0}, {"path": "a", "lines": "1-2"}]),
    "context_recover": ([{"topic": "gate"}, {"topic": "gate", "exact": True, "limit": 10}],
                        [{}, {"topic": ["gate"]}, {"topic": "gate", "limit": 0}, {"topic": "gate", "limit": 11}]),
    "context_status": ([{}], [{"session": "trip"}]),
}


def parts(form: str, tool: dict) -> tuple[str, dict]:
    """Returns the name and the schema of a definition."""
    inner = tool["function"] if form == "openai" else tool
    return inner["name"], inner["input_schema" if form == "anthropic" else "parameters"]


def main() -> int:
    accp = sys.argv[1]
    faults = []
    for form, kind in TYPES.items():
        said = subprocess.run([accp, "context", "tools", "--messages", form], check=True, capture_output=True)
        tools = json.loads(said.stdout)
        # A key that the provider does not know is a fault too.
        adapter = TypeAdapter(with_config(ConfigDict(extra="forbid"))(kind))
        names = set()
        for tool in tools:
            name, schema = parts(form, tool)
            names.add(name)
            try:
                adapter.validate_python(tool)
                Draft202012Validator.check_schema(schema)
            except (ValidationError, SchemaError) as error:
                faults.append(f"{form} {name}: {error}")
                continue
            validator = Draft202012Validator(schema)
            fit, unfit = ARGUMENTS[name]
            faults += [f"{form} {name}: refuses {given}" for given in fit if not validator.is_valid(given)]
            faults += [f"{form} {name}: accepts {given}" for given in unfit if validator.is_valid(given)]
        if names != ARGUMENTS.keys():
            faults.append(f"{form}: the tools are {sorted(names)}")
    print("\n".join(faults) or f"tools: {len(ARGUMENTS)} definitions fit {', '.join(TYPES)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
