#!/usr/bin/env python3
"""Drives the page of a hub in Chromium, as its readers do, while agents send frames to the hub.

    python3 tests/ui/ui.py OPEN GUARDED TOKEN [SHOTS]

OPEN is the address of a hub without tokens and without sessions, GUARDED that of one that knows TOKEN
for the session `team`. With a folder SHOTS, the page is also drawn into pictures there.
"""

import base64
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "page"))

from browser import Browser, Failed  # noqa: E402
from hub import Hub  # noqa: E402
from planted import pages  # noqa: E402

WIDE, PHONE = (1400, 900), (390, 844)
# The most milliseconds in which the page shows what it should.
PATIENCE = 15000
# Holds in the page once it shows the session.
SETTLED = "document.querySelectorAll('#frames > li').length > 20 && document.querySelector('.tag.hot') && document.querySelector('#checkpoints li')"
# What an enemy writes. If any of it were markup, the page would run it.
HOSTILE = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"

# Runs in the page: waits until a condition holds, which it looks at when the page changes.
UNTIL = """(holds, patience) => new Promise((done, fail) => {
  const look = () => { if (holds()) { watch.disconnect(); clearTimeout(over); done(true); } };
  const watch = new MutationObserver(look);
  const over = setTimeout(() => { watch.disconnect(); fail(new Error(`never: ${holds}`)); }, patience);
  watch.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  look();
})"""

# Runs in the page: the frames that are shown.
ROWS = """[...document.querySelectorAll('#frames > li:not([hidden])')].map((item) => ({
  at: item.querySelector('.at').textContent, words: item.querySelector('.words').textContent,
  tag: item.querySelector('.tag').textContent, kind: item.className,
  open: item.querySelector('.row').ariaExpanded === 'true', focus: item.contains(document.activeElement),
}))"""

# Runs in the page: the contrast of texts against what lies behind them (WCAG 2, 4.5 is enough).
CONTRAST = """() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const poor = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!text || !element.checkVisibility() || element.closest('script,style')) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""


def check(holds, what):
    if not holds:
        raise Failed(what)


class Page:
    """The page of a hub in a browser."""

    def __init__(self, browser, address, shots):
        self.browser, self.address, self.shots, self.patience = browser, address, shots, PATIENCE
        self.resize(WIDE)
        self.run = browser.run

    def until(self, condition):
        self.run(f"({UNTIL})(() => {condition}, {self.patience})")

    def loads(self, script):
        """Runs a script that loads the page anew, and waits until it has loaded."""
        self.browser.events.clear()
        self.run(script)
        while "Page.loadEventFired" not in (method for method, _ in self.browser.events):
            self.browser.next()

    def rows(self):
        return self.run(ROWS)

    def row(self, words):
        found = [row for row in self.rows() if words in row["words"]]
        check(len(found) == 1, f"{len(found)} frames have {words!r}: {[row['words'] for row in self.rows()]}")
        return found[0]

    def press(self, key, text=None):
        keys = {"key": key, "code": key, "windowsVirtualKeyCode": CODES[key]}
        typed = {"text": text or "\r"} if text or key == "Enter" else {}
        self.browser.ask("Input.dispatchKeyEvent", type="keyDown", **keys, **typed)
        self.browser.ask("Input.dispatchKeyEvent", type="keyUp", **keys)

    def type(self, text):
        self.browser.ask("Input.insertText", text=text)

    def resize(self, size):
        width, height = size
        self.browser.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
        )

    def prefer(self, **features):
        named = [{"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()]
        self.browser.ask("Emulation.setEmulatedMedia", features=named)

    def shot(self, name):
        if self.shots:
            picture = self.browser.ask("Page.captureScreenshot", format="png")["data"]
            (self.shots / f"{name}.png").write_bytes(base64.b64decode(picture))

    def is_quiet(self, expected=()):
        """Checks that no script has failed, that the browser has not complained, and that nobody else was asked."""
        for method, params in self.browser.events:
            said = json.dumps(params)
            check(method != "Runtime.exceptionThrown", f"a script failed: {said}")
            check(method != "Runtime.consoleAPICalled", f"the page writes to the console: {said}")
            if method == "Log.entryAdded":
                text = params["entry"]["text"]
                check(any(part in text for part in expected), f"the browser logs: {text}")
            if method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                check(url.startswith((f"http://{self.address}/", "data:image/svg+xml,")), f"the page asks for {url}")


CODES = {"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9, "/": 191, "s": 83}


def tell_a_story(hub):
    """A session with plans, tools, a failure and so many frames that checkpoints are taken."""
    hub.send("@user>req:chat{content:We_ship_the_login_page_on_Friday.|role:user|turn:1|schema:CH}")
    hub.send("@dev>sync:state{v:1|delta:{impl_auth:wip,budget:4200}}")
    task = hub.send("@planner>req:schedule{asgn:dev|task:impl_auth|pri:high|dead:friday|schema:TA}")
    tool = hub.send("@dev>req:tool{tool:web_search|args:{q:refresh_tokens,max:5}|schema:TC}")
    hub.send("@tools>done:tool{tool:web_search|result:Three_pages_were_found|schema:TC}", f",cid:{tool}")
    hub.send("@analyst>qry:lookup{src:$cold.p3|q:revenue_by_region|budget:$ctx.budget}")
    hub.send("@dev>done:schedule{task:impl_auth|status:done|schema:TA}", f",cid:{task}")
    hub.send("@dev>fail:error{code:E4002|msg:No_such_file|retry:true|schema:ER}")
    for part in range(9):
        hub.send(f"@planner>req:schedule{{asgn:dev|task:part_{part}|pri:low|dead:monday|schema:TA}}")


def shows_a_session(page, hub):
    """Sessions, frames in plain words, budgets, checkpoints, and a frame that comes while the page is open."""
    page.until("document.querySelectorAll('#session-list a').length === 2")
    page.until(SETTLED)
    names = page.run("[...document.querySelectorAll('#session-list b')].map((name) => name.textContent)")
    check(sorted(names) == ["launch", "nightly-tests"], f"the sessions are {names}")
    row = page.row("impl_auth, priority high")
    check(row["words"] == "planner requests schedule: assignee dev, task impl_auth, priority high, deadline friday", row)
    check("req" in row["kind"].split() and row["tag"].startswith("left"), row)
    check(any("in context" in row["tag"] for row in page.rows()), "no frame is in the context")

    hub.send("@dev>wait:deploy{reason:window_opens_at_noon}")
    page.until("[...document.querySelectorAll('#frames .words')].some((one) => one.textContent.includes('window_opens_at_noon'))")
    row = page.row("window_opens_at_noon")
    check(row["words"].startswith("dev waits, deploy: "), row)
    check(page.rows()[-1]["words"] == row["words"], "a new frame does not stand last")
    in_view = "(({ bottom }) => bottom <= innerHeight)(document.querySelector('#frames > li:last-child').getBoundingClientRect())"
    check(page.run(in_view), "the newest frame is not in view")
    page.until("[...document.querySelectorAll('#frames > li')].at(-1).querySelector('.tag').textContent.includes('in context')")


def shows_the_context(page):
    """Budgets as bars of the right width, checkpoints and what left with them, agents, the shared state."""
    for name in "hot", "warm":
        bar = page.run(
            f"""(() => {{ const track = document.querySelector('#{name} .track');
            const fill = document.querySelector('#{name} .fill');
            return [track.ariaValueNow, track.ariaValueMax, fill.style.width, track.role, track.ariaLabel]; }})()"""
        )
        used, limit, width, role, label = bar
        check(int(used) > 0 and role == "meter" and label, f"the bar {name} is {bar}")
        check(abs(float(width.rstrip("%")) - 100 * int(used) / int(limit)) < 0.01, f"the bar {name} is {bar}")
    page.prefer(reduced_motion="reduce")
    drawn = "(({ width }, all) => width / all.width)(document.querySelector('#warm .fill').getBoundingClientRect(), document.querySelector('#warm .track').getBoundingClientRect())"
    check(abs(page.run(drawn) - int(used) / int(limit)) < 0.01, f"the bar is drawn {page.run(drawn)} wide")
    check(page.run("getComputedStyle(document.querySelector('.fill')).transitionDuration") == "0s", "the bars move")
    page.prefer()

    state = page.run("fetch('/accp/v1/sessions/launch/state').then((answer) => answer.json())")
    shown = page.run("[...document.querySelectorAll('#checkpoints summary b')].map((name) => name.textContent)")
    ids = [f"ckpt_{one['last']}" for one in reversed(state["warm"]) if one["first"] == one["last"]]
    check(ids and shown == ids, f"the checkpoints are {shown}, not {ids}")
    hot = [row["at"] for row in page.rows() if "in context" in row["tag"]]
    check(set(hot) <= {f"p{position}" for position in state["hot"]} and hot, f"the page has {hot} in the context")

    page.run("[...document.querySelectorAll('#frames .checkpoint .row')].at(-1).click()")
    said = page.run("[...document.querySelectorAll('.checkpoint .open-frame dd')].map((one) => one.textContent)")
    check(any(one.startswith("p") for one in said) and any("done" in one or "tokens" in one for one in said), said)
    page.run("document.querySelector('.checkpoint .open-frame dl .reference').click()")
    page.until("document.activeElement.matches('.row[aria-expanded=true]')")
    page.run("document.querySelectorAll('.row[aria-expanded=true]').forEach((row) => row.click())")
    agents = page.run("[...document.querySelectorAll('#agents li span:first-child')].map((name) => name.textContent)")
    check(agents == ["hub", "user", "dev", "planner", "tools", "analyst"], f"the agents are {agents}")
    shared = page.run("document.getElementById('shared').textContent")
    check("budget" in shared and "4200" in shared, f"the shared state is {shared}")
    page.run("document.getElementById('model').open = true")
    page.until("document.getElementById('model-text').textContent.includes('@facts ckpt_1')")
    page.run("document.getElementById('model').open = false")


def reads_values(page):
    """Values come when a reader asks for them, from a frame and by name."""
    asked = lambda: sum("/values/" in params["request"]["url"] for method, params in page.browser.events if method == "Network.requestWillBeSent")  # noqa: E731
    check(asked() == 0, "the page reads values that nobody has asked for")
    page.run("document.querySelector('#frames .qry .row').click()")
    page.run("document.querySelectorAll('#frames .qry .reference')[1].click()")
    page.until("document.querySelector('#frames .qry .value pre')?.textContent === '4200'")
    page.shot("desktop")
    page.run("document.querySelector('#frames .qry .value button').click()")
    check(not page.run("document.querySelector('#frames .qry .value')"), "a value does not close")
    page.run("document.getElementById('reference').focus()")
    page.type("$ctx.impl_auth")
    page.press("Enter")
    page.until("document.querySelector('#found pre')?.textContent === 'wip'")
    page.run("document.getElementById('reference').value = 'ctx.nothing'; document.getElementById('lookup').requestSubmit()")
    page.until("/^\\$ctx.nothing: The hub expects .* \\(404\\)/.test(document.querySelector('#found .bad')?.textContent)")
    check(asked() == 3, f"the page has read {asked()} values")


def goes_by_keyboard(page):
    """Arrows move, Enter opens, `/` filters, Escape goes back, `s` goes to the sessions."""
    page.run("document.activeElement.blur()")
    page.press("ArrowDown")
    page.press("End")
    check(page.rows()[-1]["focus"], "End does not go to the newest frame")
    page.press("ArrowUp")
    check(page.rows()[-2]["focus"], "the arrow does not go up")
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth")
    check(outline == "solid2px", f"the focus is drawn as {outline}")
    page.press("Enter")
    check(page.rows()[-2]["open"], "Enter does not open a frame")
    page.press("Escape")
    check(not page.rows()[-2]["open"] and page.rows()[-2]["focus"], "Escape does not close a frame")
    page.press("/", "/")
    check(page.run("document.activeElement.id === 'filter' && !document.activeElement.value"), "/ does not go to the filter")
    page.type("impl_auth COMPLETES")
    page.until("document.querySelectorAll('#frames > li:not([hidden])').length < 3")
    words = [row["words"] for row in page.rows()]
    check(words == ["dev completes schedule: task impl_auth, status done"], f"the filter leaves {words}")
    check("1 of " in page.run("document.getElementById('log-count').textContent"), "the page does not say what it hides")
    page.press("Escape")
    check(len(page.rows()) > 20 and page.run("document.activeElement.id") == "filter", "Escape does not clear the filter")
    page.press("Escape")
    check(page.run("document.activeElement.matches('.row')"), "Escape does not leave the filter")
    page.press("s", "s")
    check(page.run("document.activeElement.matches('#session-list a[aria-current]')"), "s does not go to the session")
    before = page.run("document.activeElement.hash")
    page.press("ArrowDown")
    page.press("ArrowUp")
    page.press("ArrowDown")
    other = page.run("document.activeElement.hash")
    check({before, other} == {"#launch", "#nightly-tests"}, f"arrows go from {before} to {other}")
    page.press("Enter")
    page.until("document.getElementById('log-title').textContent === 'nightly-tests' && document.querySelector('#frames > li.req')")
    check(page.row("requests")["words"] == "ci requests plan: goal green", "another session shows other frames")
    # Each control can be reached, and has a name.
    unnamed = page.run("""[...document.querySelectorAll('button, input, a, summary')].filter((one) =>
      one.checkVisibility() && !(one.textContent.trim() || one.ariaLabel || one.labels?.length)).map((one) => one.outerHTML)""")
    check(not unnamed, f"controls without a name: {unnamed}")


def is_safe(page, hub):
    """What an enemy writes is a text wherever it appears."""
    policy = page.run("fetch('/ui').then((answer) => answer.headers.get('content-security-policy'))")
    check("default-src 'none'" in policy and "unsafe" not in policy, f"the policy is {policy}")
    written = HOSTILE.replace(" ", "_").replace(">", "%3E").replace("<", "%3C")
    hub.send(f"@evil>req:chat{{content:{written}|role:user|turn:1|schema:CH}}")
    hub.send(f"@evil>sync:state{{v:2|delta:{{worm:{written}}}}}")
    page.run("location.hash = '#launch'")
    page.until("document.getElementById('shared').textContent.includes('onerror')")
    page.until("[...document.querySelectorAll('#frames .words')].some((one) => one.textContent.includes('onerror'))")
    page.run("[...document.querySelectorAll('#frames .row')].slice(-2).forEach((row) => row.click())")
    row = page.row("evil requests chat")
    check("<img src=x onerror=window.hit=1>" in row["words"], f"the text is not shown as it is: {row}")
    look_up = f"document.getElementById('reference').value = 'cold.{row['at']}.content'"
    page.run(f"{look_up}; document.getElementById('lookup').requestSubmit()")
    page.until(f"document.querySelector('#found pre')?.textContent === {json.dumps(HOSTILE)}")
    page.run("document.getElementById('model').open = true")
    page.until("document.getElementById('model-text').textContent.includes('onerror')")
    page.run("document.getElementById('model').open = false")
    check(page.run("document.querySelectorAll('img, iframe, script').length") == 1, "an enemy has made elements")
    check(page.run("typeof window.hit") == "undefined", "an enemy's script has run")
    page.is_quiet(expected=["404"])
    refused = "(() => { try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; } })()"
    check(page.run(refused), "the browser would make markup of a text")


def stays_small(page, hub):
    """The page keeps a bounded number of frames, and loads earlier ones when somebody asks."""
    long = Hub(page.address, "long")
    for number in range(460):
        long.send(f"@a>req:step{{n:{number}}}")
    page.run("location.hash = '#long'")
    shown = lambda words: f"[...document.querySelectorAll('#frames .words')].some((one) => one.textContent === 'a requests step: n {words}')"  # noqa: E731
    page.until(shown(459))
    check(not page.run(shown(0)), "the page loads all of a long log")
    for number in range(460, 700):
        long.send(f"@a>req:step{{n:{number}}}")
    page.until(shown(699))
    count = len(page.rows())
    check(200 <= count <= 400, f"the page keeps {count} frames")
    # Somebody who reads earlier frames stays there while others come.
    page.run("document.getElementById('scroll').scrollTop = 0")
    for _ in range(4):
        first = page.rows()[0]["at"]
        if page.run("document.getElementById('earlier').hidden"):
            break
        page.run("document.getElementById('earlier').click()")
        page.until(f"document.querySelector('#frames .at').textContent !== '{first}'")
    check(page.rows()[0]["at"] == "p1" and len(page.rows()) <= 800, "the first frames are not loaded")
    page.run("document.getElementById('scroll').scrollTop = 0")
    long.send("@a>req:step{n:700}")
    page.until("!document.getElementById('latest').hidden")
    check(page.run("document.getElementById('scroll').scrollTop") == 0, "a new frame moves somebody who reads")
    page.run("document.getElementById('latest').click()")
    page.until(shown(700))
    check(len(page.rows()) <= 400, f"the page keeps {len(page.rows())} frames")


def fits_everywhere(page):
    """A phone's width, dark and light: nothing is too wide, and texts can be read."""
    page.run("location.hash = '#launch'")
    page.until("document.querySelector('#frames .tag.hot')")
    check(not page.run(f"({CONTRAST})()"), f"light: {page.run(f'({CONTRAST})()')}")
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.run(back)
    page.prefer(color_scheme="dark")
    dark = page.run(back)
    check(light == "rgb(255, 255, 255)" and sum(map(int, dark[4:-1].split(","))) < 120, f"light is {light}, dark {dark}")
    check(not page.run(f"({CONTRAST})()"), f"dark: {page.run(f'({CONTRAST})()')}")
    page.shot("dark")
    for size in PHONE, (320, 568), (700, 900), (1000, 700), WIDE:
        page.resize(size)
        for view in "sessions", "log", "context":
            page.run(f"document.querySelector('#views [data-view={view}]').click()")
            wide = page.run("""[document.documentElement, ...document.querySelectorAll('#sessions, #scroll, #context')]
              .map((one) => one.scrollWidth - one.clientWidth)""")
            check(max(wide) <= 0, f"at {size} the view {view} is too wide: {wide}")
            hidden = page.run("['sessions', 'log', 'context'].filter((id) => !document.getElementById(id).checkVisibility())")
            expected = [one for one in ("sessions", "log", "context") if one != view] if size[0] <= 896 else []
            check(hidden == expected, f"at {size} the view {view} hides {hidden}")
            if size == PHONE:
                page.shot(f"phone-{view}")
    page.prefer()
    page.resize(PHONE)
    page.run("document.querySelector('#views [data-view=sessions]').click()")
    page.run("document.querySelector('#session-list a[href=\"#nightly-tests\"]').click()")
    page.until("document.getElementById('log').checkVisibility() && document.querySelector('#frames > li.req')")
    page.resize(WIDE)


def asks_for_a_token(browser, address, token, shots):
    """With tokens, the page asks for one, keeps it in the tab, and shows what the token opens."""
    hub = Hub(address, "team", token)
    hub.send("@lead>req:plan{goal:secrets}")
    page = Page(browser, address, shots)
    browser.visit(f"http://{address}/ui#team")
    page.until("document.getElementById('login').open")
    check(page.run("document.activeElement.id") == "token", "the focus is not on the token")
    check(not page.run("document.querySelector('#session-list a, #frames > li')"), "the page shows something without a token")
    page.type("wrong")
    page.press("Enter")
    page.until("document.getElementById('login').open && document.getElementById('login-why').textContent.includes('does not know')")
    page.shot("login")
    page.type(token)
    page.press("Enter")
    page.until("document.querySelector('#frames > li.req .words')?.textContent === 'lead requests plan: goal secrets'")
    page.until("document.querySelectorAll('#session-list a').length === 1")
    check(token not in page.run("document.documentElement.outerHTML + location.href + document.cookie + JSON.stringify(localStorage)"), "the token lies about")
    page.is_quiet(expected=["401"])
    page.loads("document.getElementById('forget').click()")
    page.until("document.getElementById('login').open")
    check(page.run("sessionStorage.length") == 0, "the page does not forget the token")


def finds_mistakes(page):
    """Opens the page with a mistake in it, as the hub's answer. The check that is for the mistake must say so."""
    checks = {
        "shows_the_context": shows_the_context,
        "reads_values": reads_values,
        "goes_by_keyboard": goes_by_keyboard,
        "fits_everywhere": fits_everywhere,
        "is_quiet": lambda page: page.is_quiet(),
    }
    # What does not come soon does not come.
    shots, page.shots, page.patience = page.shots, None, 5000
    page.browser.ask("Fetch.enable", patterns=[{"urlPattern": "*/ui?*"}])
    for number, (what, check, said, answer) in enumerate(pages(page.address)):
        page.browser.answers["Fetch.requestPaused"] = lambda paused: page.browser.tell(
            "Fetch.fulfillRequest", requestId=paused["requestId"], **answer
        )
        page.resize(WIDE)
        page.prefer()
        page.browser.visit(f"http://{page.address}/ui?{number}#launch")
        try:
            page.until(SETTLED)
            checks[check](page)
        except Failed as failed:
            text = str(failed).splitlines()[0]
            if said not in text:
                raise Failed(f"{what} was planted, and {check} says: {text}") from failed
            print(f"found: {what}: {text[:100]}")
        else:
            raise Failed(f"{what} was planted, and {check} has not found it")
    page.browser.ask("Fetch.disable")
    page.resize(WIDE)
    page.prefer()
    page.shots, page.patience = shots, PATIENCE


def main():
    address, guarded, token = sys.argv[1:4]
    shots = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    hub, other = Hub(address, "launch"), Hub(address, "nightly-tests")
    other.send("@ci>req:plan{goal:green}")
    tell_a_story(hub)
    with Browser() as browser:
        page = Page(browser, address, shots)
        try:
            browser.visit(f"http://{address}/ui#launch")
            shows_a_session(page, hub)
            shows_the_context(page)
            reads_values(page)
            goes_by_keyboard(page)
            finds_mistakes(page)
            browser.visit(f"http://{address}/ui#launch")
            is_safe(page, hub)
            stays_small(page, hub)
            fits_everywhere(page)
            page.is_quiet(expected=["404", "TrustedHTML"])
            asks_for_a_token(browser, guarded, token, shots)
        except Failed as failed:
            sys.exit(f"the page of the hub: {failed}")
    print("the page of the hub: sessions, frames, context, values, keys, enemies, long logs, widths, tokens: fine")


if __name__ == "__main__":
    main()
