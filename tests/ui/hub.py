"""A hub to look at: sends frames to it over HTTP, as any client does."""

import http.client
import itertools
import time

# Numbers of message ids, which no two clients share.
NUMBERS = itertools.count(1)


class Hub:
    """A client of a hub that speaks for several agents in one session."""

    def __init__(self, address, session, token=None):
        self.session, self.numbers = session, {}
        self.to = http.client.HTTPConnection(address, timeout=30)
        self.headers = {"Content-Type": "application/accp"}
        if token:
            self.headers["Authorization"] = f"Bearer {token}"

    def send(self, head, more=""):
        """Sends a frame, given without its metadata. Returns its id; a refusal ends the test."""
        agent = head[1 : head.index(">")]
        number = self.numbers[agent] = self.numbers.get(agent, 0) + 1
        mid = f"abc{next(NUMBERS):09d}"
        frame = f"{head}[mid:{mid},seq:{number},ts:{int(time.time())},sid:{self.session}{more}]"
        self.to.request("POST", "/accp/v1/frames", frame, self.headers)
        answer = self.to.getresponse()
        said = answer.read().decode()
        if answer.status != 200:
            raise SystemExit(f"the hub refuses {frame}: {answer.status} {said}")
        return mid
