"""Drives a headless Chromium over the DevTools protocol, on pipes: no port, no library, no sleep."""

import fcntl
import json
import os
import select
import subprocess
import tempfile

# The longest that the browser may be silent while something is awaited, in seconds.
PATIENCE = 30


class Failed(Exception):
    """The browser has stopped, is silent, or refuses a command."""


class Browser:
    """A browser with one page. It stops at the end of a `with`."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        for_browser, self.to = os.pipe()
        self.of, by_browser = os.pipe()

        def place():
            # Chromium reads from descriptor 3 and writes to 4, which the pipes may have already.
            pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (for_browser, by_browser)]
            os.dup2(pipes[0], 3)
            os.dup2(pipes[1], 4)

        switches = ["headless", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"]
        switches += ["disable-background-networking", "remote-debugging-pipe"]
        switches += [f"user-data-dir={self.folder.name}"]
        self.process = subprocess.Popen(
            ["chromium", *(f"--{switch}" for switch in switches), "about:blank"],
            preexec_fn=place,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(for_browser)
        os.close(by_browser)
        self.read, self.number, self.page = b"", 0, None
        # Everything that the page has said since it was opened, and who answers at once, by event.
        self.events, self.answers = [], {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.page = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)
        self.process.terminate()
        self.process.wait()
        os.close(self.of)
        self.folder.cleanup()

    def ask(self, method, **params):
        """Sends a command, and returns its answer."""
        number = self.tell(method, **params)
        while True:
            said = self.next()
            if said.get("id") == number:
                if "error" in said:
                    raise Failed(f"{method}: {said['error']['message']}")
                return said["result"]

    def tell(self, method, **params):
        """Sends a command, and returns its number."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.page:
            message["sessionId"] = self.page
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self.to, rest) :]
        return self.number

    def next(self):
        """Returns what the browser says next, and keeps it if it is an event."""
        while b"\0" not in self.read:
            if not select.select([self.of], [], [], PATIENCE)[0]:
                raise Failed(f"the browser has said nothing for {PATIENCE} seconds")
            read = os.read(self.of, 1 << 20)
            if not read:
                raise Failed("the browser has stopped")
            self.read += read
        said, self.read = self.read.split(b"\0", 1)
        said = json.loads(said)
        if "method" in said:
            self.events.append((said["method"], said["params"]))
            if said["method"] in self.answers:
                self.answers[said["method"]](said["params"])
        return said

    def open(self, path):
        """Opens a file and waits until it has loaded."""
        self.visit(path.resolve().as_uri())

    def visit(self, url):
        """Opens a page and waits until it has loaded. What the page before asks for on its way out does not count."""
        for place in ("about:blank", url):
            self.events = []
            self.ask("Page.navigate", url=place)
            while "Page.loadEventFired" not in (method for method, _ in self.events):
                self.next()

    def run(self, script):
        """Runs a script in the page, and returns its value."""
        said = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise Failed(details.get("exception", details).get("description", details["text"]))
        return said["result"].get("value")
