#!/usr/bin/env python3
"""Ends the hub under an open page: the page says so, and goes on by itself when the hub is there again.

    python3 tests/ui/again.py ACCP
"""

import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "page"))

from browser import Browser, Failed  # noqa: E402
from hub import Hub  # noqa: E402
from ui import Page, check  # noqa: E402

LOST = "document.getElementById('status').dataset.state === 'lost'"


def start(accp, store, port):
    """Starts a hub on a store. Returns its process and its address."""
    command = [accp, "serve", str(store), "--listen", f"127.0.0.1:{port}"]
    hub = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    said = hub.stderr.readline()
    found = re.match(r"hub at http://([^,]+),", said)
    check(found, f"the hub says {said!r}")
    return hub, found[1]


def words(text):
    return f"[...document.querySelectorAll('#frames .words')].some((one) => one.textContent === '{text}')"


def main():
    accp = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        hub, address = start(accp, pathlib.Path(folder) / "one.accp", 0)
        port = address.split(":")[1]
        try:
            Hub(address, "team").send("@a>req:step{n:1}")
            page = Page(browser, address, None)
            browser.visit(f"http://{address}/ui#team")
            page.until(words("a requests step: n 1"))
            hub.kill()
            hub.wait()
            page.until(LOST)
            # The same log, which has grown in the meantime: the page has each frame once.
            hub, _ = start(accp, pathlib.Path(folder) / "one.accp", port)
            Hub(address, "team").send("@b>req:step{n:2}")
            page.until(words("b requests step: n 2"))
            places = [row["at"] for row in page.rows()]
            check(places == [f"p{at}" for at in range(1, 7)], f"the page has the frames {places}")
            # A hub that ends by SIGTERM says in a last line why the answer is not whole. That line is not a frame.
            hub.terminate()
            hub.wait()
            page.until(LOST)
            hub, _ = start(accp, pathlib.Path(folder) / "one.accp", port)
            Hub(address, "team").send("@d>req:step{n:4}")
            page.until(words("d requests step: n 4"))
            places = [row["at"] for row in page.rows()]
            check(places == [f"p{at}" for at in range(1, 9)], f"the page has the frames {places}")
            # Another log of the same name, which is shorter: the page shows that one alone.
            hub.kill()
            hub.wait()
            page.until(LOST)
            hub, _ = start(accp, pathlib.Path(folder) / "two.accp", port)
            Hub(address, "team").send("@c>req:step{n:3}")
            page.until(words("c requests step: n 3"))
            check(len(page.rows()) == 4, f"the page mixes two logs: {[row['words'] for row in page.rows()]}")
            page.is_quiet(expected=["ERR_", "404"])
        except Failed as failed:
            sys.exit(f"the page of a hub that ends: {failed}")
        finally:
            hub.kill()
            hub.wait()
    print("the page of a hub that ends three times: fine")


if __name__ == "__main__":
    main()
