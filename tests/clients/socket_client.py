"""Talks to a hub over WebSocket (draft section 11.2) with a client that nobody here wrote.

Two peers know the draft alone. Each opens the session by sync:registry, and then one asks and one answers.
Usage: socket_client.py URL
"""

import asyncio
import re
import sys
import time

import websockets


class Peer:
    """A peer that knows the draft alone: shared numbers, one frame under way."""

    def __init__(self, socket, agent, letter):
        self.socket, self.agent, self.letter = socket, agent, letter
        self.made, self.held = 0, 0
        self.heard = []

    @classmethod
    async def join(cls, url, session, agent, letter, held=0):
        """Says hello, with the last number that the peer holds."""
        socket = await websockets.connect(f"{url}/accp/v1/ws?session={session}")
        peer = cls(socket, agent, letter)
        await peer.socket.send(
            f"@{agent}>sync:registry{{v:1|hash:abc123}}[mid:{peer.mid()},seq:{held},ts:{int(time.time())}]"
        )
        hello = await peer.hear("sync:registry")
        # The registry of the hub is another one, so its schemas come along.
        assert held or "schemas:" in hello, hello
        return peer

    def mid(self):
        self.made += 1
        return f"{self.letter}{self.made:011d}"

    async def hear(self, operation, within=""):
        """Returns the next frame of this intent and operation; pings are answered on the way."""
        while True:
            frame = await asyncio.wait_for(self.socket.recv(), 30)
            assert isinstance(frame, str), "a frame is a text message"
            head, metadata = re.fullmatch(r"(@.*\})\[(.*)\]", frame).groups()
            pairs = dict(pair.split(":", 1) for pair in metadata.split(","))
            self.held = max(self.held, int(pairs["seq"]))
            self.heard.append(frame)
            if f">ping:" in head:
                await self.say("pong:link{}", self.held)
            elif f">{operation}" in head and within in frame:
                return frame

    async def say(self, rest, sequence=None, more=""):
        mid = self.mid()
        sequence = self.held + 1 if sequence is None else sequence
        text = f"@{self.agent}>{rest}[mid:{mid},seq:{sequence},ts:{int(time.time())}{more}]"
        await self.socket.send(text)
        return mid


async def refused(url, first, code):
    """A socket whose first message is not sync:registry ends with a reason."""
    async with websockets.connect(f"{url}/accp/v1/ws?session=py") as socket:
        await socket.send(first)
        error = await asyncio.wait_for(socket.recv(), 30)
        assert error.startswith("@hub>fail:error{code:" + code), error
        try:
            await asyncio.wait_for(socket.recv(), 30)
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 1008 and code in closed.rcvd.reason, closed
        else:
            raise AssertionError("the socket is still open")


async def main(url):
    url = url.replace("http", "ws", 1)
    dev = await Peer.join(url, "py", "dev", "d")
    planner = await Peer.join(url, "py", "planner", "a")
    asked = await planner.say("req:schedule{asgn:dev|task:soup|schema:TA}")
    request = await dev.hear("req:schedule", "task:soup")
    assert f"mid:{asked}" in request, request
    await dev.say("done:schedule{task:soup|stat:done|schema:TA}", more=f",cid:{asked}")
    await dev.hear("ack:frame")
    answer = await planner.hear("done:schedule", f"cid:{asked}")
    assert "stat:done" in answer, answer
    assert any(f"of:{asked}" in frame or f"cid:{asked}" in frame for frame in planner.heard)
    # The heartbeat, from the client's side.
    await planner.say("ping:link{}", planner.held)
    await planner.hear("pong:link")
    await planner.socket.close()
    # A peer that comes back goes on after the number that it holds.
    held = planner.held
    told = await dev.say("req:plan{goal:tea}")
    await dev.hear("ack:frame", told)
    back = await Peer.join(url, "py", "planner", "b", held)
    frame = await back.hear("req:plan", "goal:tea")
    assert int(re.search(r"seq:(\d+)", frame)[1]) > held, frame
    await refused(url, "@dev>req:plan{}[mid:f00000000001,seq:1]", "E1001")
    await refused(url, "nothing of the kind", "E1001")
    # No frame is a binary message.
    async with websockets.connect(f"{url}/accp/v1/ws?session=py") as socket:
        await socket.send(b"\xff\x00")
        try:
            await asyncio.wait_for(socket.recv(), 30)
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 1003, closed
    await dev.socket.close()
    await back.socket.close()


asyncio.run(main(sys.argv[1]))
