"""Judges what the provider got: judge.py KIND FILE [FILE].

same ONE OTHER         the two runs sent the same bytes to the same paths, and none was refused but what is to be refused
changed ONE OTHER      the second run sent as many requests, no other was refused, and it sent less
session FILE LEAST     a session of a command line: so many requests with a list, and none was refused
smaller ONE OTHER      the second session sent less
replay ONE DIRECT VIA  sends each request of a run to both URLs, raw, and wants the same status and the same bytes back
"""

import gzip
import http.client
import json
import sys
import urllib.parse
import urllib.request

kind, *rest = sys.argv[1:]


def read(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def refused(run):
    return [got["refused"] for got in run if got["refused"]]


def size(run):
    return sum(len(got["body"]) for got in run)


def send(url, got):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    headers = {name: value for name, value in got["headers"].items()
               if name not in ("host", "content-length", "connection", "transfer-encoding", "accept-encoding")}
    connection.request(got["method"], got["path"], got["body"].encode() or None, headers)
    answer = connection.getresponse()
    body = answer.read()
    told = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, told.get("content-type"), told.get("request-id"), body


if kind == "same":
    one, other = map(read, rest)
    assert len(one) == len(other), (len(one), len(other))
    for left, right in zip(one, other):
        assert [left[key] for key in ("method", "path", "body")] == [right[key] for key in ("method", "path", "body")]
        here = {name for name in left["headers"] if name not in ("host", "connection", "content-length", "transfer-encoding")}
        assert here <= set(right["headers"]), (here, right["headers"])
    assert refused(one) == refused(other)
    print(f"  {len(one)} requests: the same bytes")
elif kind == "changed":
    one, other = map(read, rest)
    assert len(one) == len(other), (len(one), len(other))
    assert refused(one) == refused(other), refused(other)
    assert size(other) < size(one) * 0.95, (size(one), size(other))
    print(f"  {len(other)} requests, {100 - 100 * size(other) // size(one)} % fewer bytes, {len(refused(other))} refused as directly")
elif kind == "session":
    run, least = read(rest[0]), int(rest[1])
    asked = [got for got in run if got["billed"]]
    assert len(asked) >= least, (len(asked), [got["path"] for got in run])
    assert not refused(run), refused(run)
    print(f"  {len(asked)} requests with a list, {size(asked)} bytes, none refused")
elif kind == "smaller":
    one, other = map(read, rest)
    assert size(other) < size(one), (size(one), size(other))
    print(f"  {100 - 100 * size(other) / size(one):.1f} % fewer bytes")
elif kind == "replay":
    run, (direct, via) = read(rest[0]), rest[1:]
    answers = []
    for url in (direct, via):
        urllib.request.urlopen(urllib.request.Request(f"{direct}/_upstream/clear", method="POST")).read()
        answers.append([send(url, got) for got in run])
    for got, one, other in zip(run, *answers):
        assert one == other, (got["path"], one[:3], other[:3])
    print(f"  {len(run)} answers: the same bytes")
