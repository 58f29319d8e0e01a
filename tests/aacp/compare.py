"""Compares `accp aacp` with the Python package aacp.

Usage: compare.py ACCP COUNT
"""

import collections
import inspect
import json
import random
import subprocess
import sys

from aacp.encoders import workflows
from aacp.validator import AACPValidator

ACCP, COUNT = sys.argv[1], int(sys.argv[2])
SEED = 1

# Values for the parameters of the package's encoders, by the kind of the parameter.
PERIOD, NUMBER, TEXT = "2024-08", 4200, "x1"


def accp(arguments, lines):
    """Runs `accp aacp` and returns its lines as JSON."""
    run = subprocess.run(
        [ACCP, "aacp", *arguments, "--format", "json"],
        input="".join(line + "\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode in (0, 1), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def split(packet):
    """Returns a packet as its head and its fields without the version, which differs."""
    task, dom, *fields = packet.split("|")
    return task, dom, sorted(field for field in fields if not field.startswith("aacp:"))


def value(name, parameter):
    """Returns a value for a parameter of one of the package's methods."""
    if parameter.annotation in (int, float) or "amount" in name:
        return NUMBER
    if parameter.annotation is list:
        return ["a", "b"]
    return PERIOD if "period" in name else TEXT


def all_packets():
    """Returns the packets of all encoders of the package: by class and method."""
    packets = {}
    for class_name, encoder in sorted(inspect.getmembers(workflows, inspect.isclass)):
        for name, method in sorted(inspect.getmembers(encoder(), inspect.ismethod)):
            if name.startswith(("_", "full_")):
                continue
            parameters = inspect.signature(method).parameters
            needed = {
                key: value(key, parameter)
                for key, parameter in parameters.items()
                if parameter.default is inspect.Parameter.empty
            }
            packets[class_name, name] = method(**needed).packet
    return packets


def same_packets(packets):
    """Every packet validates, reads, and comes back to the byte."""
    lines = list(packets.values())
    for line, verdict in zip(lines, accp(["validate"], lines), strict=True):
        codes = {warning["code"] for warning in verdict["warnings"]}
        assert verdict["valid"] and codes == {"version-differs"}, (line, verdict)
    decoded = accp(["decode"], lines)
    encoded = accp(["encode"], [json.dumps(packet) for packet in decoded])
    assert [packet["packet"] for packet in encoded] == lines
    classes = {name for name, _ in packets}
    print(f"{len(lines)} packets of {len(classes)} encoders validate and come back to the byte")


# The draft's workflows: our name, the package's class, and the arguments of both.
OURS = {
    "payroll": ("PayrollEncoder", {"period": PERIOD}),
    "it": ("ITEncoder", {"username": "j.smith", "email": "j@x.org"}),
    "invoice": (
        "InvoiceEncoder",
        {
            "supplier": "ABC Ltd",
            "amount": "4200",
            "currency": "gbp",
            "purchase_order": "PO-441",
            "invoice_ref": "INV 7",
        },
    ),
    "contract": (
        "ContractEncoder",
        {
            "contract_type": "nda",
            "party": "Acme Ltd",
            "clause_ref": "s7",
            "issue": "IP rights Restriction",
            "risk": "High",
            "recommendation": "do_not_sign",
        },
    ),
}


def same_fields():
    """The hops of the draft's four workflows are ours, field for field, but for the version."""
    count = 0
    for workflow, (class_name, given) in OURS.items():
        encoder = getattr(workflows, class_name)()
        sets = [f"--set={key}={text}" for key, text in given.items()]
        for made in accp(["encode", "--workflow", workflow, *sets], []):
            method = getattr(encoder, made["hop"])
            arguments = {}
            for key, parameter in inspect.signature(method).parameters.items():
                if key in given:
                    arguments[key] = given[key]
                elif parameter.default is inspect.Parameter.empty:
                    arguments[key] = TEXT
            theirs = method(**arguments).packet
            assert split(made["packet"]) == split(theirs), (made["packet"], theirs)
            count += 1
    print(f"{count} hops of {len(OURS)} workflows are the same, field for field")


def mutate(rng, packet):
    """Changes a packet in one to three places."""
    for _ in range(rng.randint(1, 3)):
        slots = packet.split("|")
        at = rng.randrange(len(slots))
        key, colon, text = slots[at].partition(":")
        change = rng.randrange(11)
        if change == 0:
            del slots[at]
        elif change == 1:
            slots.insert(at, slots[rng.randrange(len(slots))])
        elif change == 2:
            slots.insert(at, "")
        elif change == 3:
            slots[at] = key + colon
        elif change == 4:
            slots[at] = text or key.lower()
        elif change == 5:
            slots[at] = key.swapcase() + colon + text
        elif change == 6:
            slots[at] = key + "s" + colon + text
        elif change == 7:
            slots[at] = f" {key} {colon} {text} "
        elif change == 8:
            slots.append(rng.choice(["sentiment:angry", "tone:formal", "ltv:9", "ccy:GBP", "p:7"]))
        elif change == 9:
            other = rng.randrange(len(slots))
            slots[at], slots[other] = slots[other], slots[at]
        else:
            slots[at] = key + colon + rng.choice(["1.1", "1.0", "1.2", "2", "a:b", "a,b", "x=y"])
        packet = "|".join(slots)
    return packet


# Our errors that the package lets pass. `return-missing` is one of them if a key is `return` in another case.
LETS_PASS = {
    "aacp-missing": "only warns without aacp",
    "aacp-empty": "only warns without aacp",
    "return-empty": "lets pass an empty return",
    "field-empty": "lets pass empty slots",
    "field-unnamed": "lets pass unnamed fields",
    "key-repeated": "takes the last of two equal keys",
    "key-invalid": "takes any text before a colon as a key",
}
REFUSES = {
    "task-unknown": "refuses unknown tasks",
    "dom-unknown": "refuses unknown domains",
}


def expected(packet, verdict):
    """Returns what the package says if our verdict is right, and the differences that lead to it."""
    errors = {error["code"] for error in verdict["errors"]}
    warnings = {warning["code"] for warning in verdict["warnings"]}
    names = {LETS_PASS[code] for code in errors if code in LETS_PASS}
    rest = errors - LETS_PASS.keys()
    keys = [slot.partition(":")[0].strip() for slot in packet.split("|")[2:] if ":" in slot]
    if "return-missing" in rest and "return" in map(str.lower, keys):
        names.add("lower-cases keys")
        rest.remove("return-missing")
    refused = {REFUSES[code] for code in warnings if code in REFUSES}
    is_valid = not rest and not refused
    if is_valid == verdict["valid"]:
        return is_valid, set()
    return is_valid, names if is_valid else refused


# Our warnings, and the beginnings of the package's.
WARNINGS = {
    "p-unknown": "Priority",
    "key-unknown": "Unknown field",
    "sentiment-without-tone": "sentiment field",
    "ltv-without-ccy": "ltv field",
}


def is_plain(packet):
    """Returns whether a packet has no keys that the package changes, and none twice."""
    keys = [slot.partition(":")[0].strip() for slot in packet.split("|")[2:] if ":" in slot]
    return len(set(keys)) == len(keys) and all(key == key.lower() for key in keys)


def same_verdicts(packets):
    """The verdicts on mutated packets are ours, but for differences that have a name."""
    rng = random.Random(SEED)
    pool = [packet.replace("aacp:1.2", "aacp:1.1") for packet in packets.values()]
    mutated = [mutate(rng, rng.choice(pool)) for _ in range(COUNT)]
    ours = accp(["validate"], mutated)
    theirs = AACPValidator()
    differences, differ, same, missed, warned = collections.Counter(), 0, 0, 0, 0
    versions = 0
    for packet, verdict in zip(mutated, ours, strict=True):
        found = theirs.validate(packet)
        is_valid, names = expected(packet, verdict)
        assert found.valid == is_valid, (packet, verdict, found)
        if names:
            differ += 1
            differences.update(names)
        else:
            same += 1
        codes = {warning["code"] for warning in verdict["warnings"]}
        missed += "p-missing" in codes
        versions += any("current is" in text for text in found.warnings) != ("version-differs" in codes)
        if found.valid and verdict["valid"] and is_plain(packet):
            warned += 1
            for code, text in WARNINGS.items():
                says = any(warning.startswith(text) for warning in found.warnings)
                assert says == (code in codes), (packet, code, verdict, found)
    print(f"{COUNT} mutated packets (seed {SEED}): {same} verdicts are the same, {differ} differ")
    print("why they differ (a packet may have several reasons, and none has no reason):")
    for names, count in differences.most_common():
        print(f"{count:7} the package {names}")
    print(f"{versions:7} the package warns of another version, because it is of 1.2")
    print(f"{missed:7} only we miss p")
    print(f"{warned} packets that both take have the same warnings about {', '.join(WARNINGS)}")


packets = all_packets()
same_packets(packets)
same_fields()
same_verdicts(packets)
