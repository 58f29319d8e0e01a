#!/usr/bin/env python3
"""Drives the page of `accp-lab bench --html` in Chromium, and compares what it shows with a dump.

    accp-lab bench chats.jsonl --html page.html --dump prompts.jsonl
    python3 tests/page/page.py page.html prompts.jsonl

The page must show each prompt and each need that the dump has, for every conversation in it, three
turns of each, and every policy on both sides. It must show where a need was said, mark what a prompt
has, keep its charts legible, log no error, and ask for no other file. Then mistakes are planted in
copies of the page, and each must be found.
"""

import json
import pathlib
import re
import sys
import tempfile
from collections import defaultdict

from browser import Browser, Failed

WIDE, PHONE = (1400, 1000), (390, 844)

# Runs in the page: chooses an option as a person does.
CHOOSE = """(id, name) => {
  const select = document.getElementById(id);
  const option = [...select.options].find((option) => option.textContent === name);
  if (!option) throw new Error(`${id} has no option ${name}`);
  select.value = option.value;
  select.dispatchEvent(new Event('change'));
}"""

# Runs in the page: all that it says about a turn.
SHOWN = """() => {
  const all = (within, of) => [...document.querySelectorAll(within)].map(of);
  const marks = (within) => all(`${within} mark`, (mark) => [mark.dataset.needs.split(' ')[0], mark.textContent, mark.className]);
  const prompt = (id) => all(`${id} .segment pre`, (pre) => pre.textContent);
  return {
    answer: document.getElementById('answer').textContent,
    needs: all('#needs tr', (row) => [row.dataset.need, ...[...row.children].map((cell) => cell.textContent)]),
    left: prompt('#left-prompt'), right: prompt('#right-prompt'),
    leftMarks: marks('#left-prompt'), rightMarks: marks('#right-prompt'), answerMarks: marks('#answer'),
  };
}"""

# Runs in the page: chooses one need after the other, and returns where the page says it was said.
POINT = """() => [...document.querySelectorAll('#needs tr')].map((row) => {
  row.click();
  return {
    who: document.getElementById('who').textContent,
    marks: [...document.querySelectorAll('#said mark')].map((mark) => mark.textContent),
    on: document.querySelectorAll('#left-prompt mark.on').length,
  };
})"""

# Runs in the page: texts of charts that are cut off, lie on each other, or are too small to read.
ILLEGIBLE = """() => [...document.querySelectorAll('figure svg')].flatMap((svg) => {
  const all = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return texts.flatMap(([name, box], index) => {
    if (box.left < all.left - 1 || box.right > all.right + 1 || box.bottom > all.bottom + 1) return [`${name} is cut off`];
    if (Math.min(box.width, box.height) < 9 && name.length > 1) return [`${name} is too small`];
    const under = texts.slice(index + 1).find(([, other]) => box.left < other.right - 1 && other.left < box.right - 1
      && box.top < other.bottom - 3 && other.top < box.bottom - 3);
    return under ? [`${name} lies on ${under[0]}`] : [];
  });
})"""


class Wrong(Exception):
    """The page does not show what it should."""


def check(holds, what):
    if not holds:
        raise Wrong(what)


def words(text):
    """The text without white space and escapes, as needs are compared."""
    return re.sub(r"\\+[nrt]|[\s\\\u200b-\u200d\u2060\ufeff]+", "", text)


class Dump:
    """What the instrument says: prompts and needs by conversation, turn and policy."""

    def __init__(self, path):
        self.prompts, self.needs = {}, defaultdict(list)
        self.turns, self.policies = defaultdict(list), defaultdict(list)
        for line in path.open(encoding="utf-8"):
            said = json.loads(line)
            name = f"{said['corpus']}: {said['conversation']}"
            if "segments" in said:
                key = name, said["turn"], said["policy"]
                self.prompts[key] = [segment["text"] for segment in said["segments"]]
                if said["turn"] not in self.turns[name]:
                    self.turns[name].append(said["turn"])
                if said["policy"] not in self.policies[name]:
                    self.policies[name].append(said["policy"])
            elif "need" in said:
                self.needs[name, said["turn"], said["policy"]].append(said)

    def lost(self, name, turn, *policies):
        """How many needs of a turn these policies have lost, or all policies if none is named."""
        needs = (self.needs[name, turn, policy] for policy in policies or self.policies[name])
        return sum(need["fate"] == "lost" for of_policy in needs for need in of_policy)


class Page:
    """The page in a browser."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path
        self.resize(WIDE)
        browser.open(path)

    def call(self, function, *values):
        return self.browser.run(f"({function})({', '.join(json.dumps(value) for value in values)})")

    def choose(self, select, option):
        self.call(CHOOSE, select, option)

    def chosen(self, select):
        return self.browser.run(f"document.getElementById('{select}').selectedOptions[0].textContent")

    def options(self, select):
        return self.browser.run(f"[...document.getElementById('{select}').options].map((option) => option.textContent)")

    def resize(self, size):
        width, height = size
        self.browser.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
        )

    def is_quiet(self):
        """Checks that no script has failed, and that nothing was asked for but the page itself."""
        for method, params in self.browser.events:
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                raise Wrong(f"a script failed: {details.get('exception', details).get('description', details['text'])}")
            check(method != "Runtime.consoleAPICalled", f"the page writes to the console: {params}")
            if method == "Log.entryAdded":
                raise Wrong(f"the browser logs: {params['entry']['text']}")
            if method == "Network.requestWillBeSent":
                url = params["request"]["url"]
                check(url == self.path.resolve().as_uri(), f"the page asks for {url}")


def turn_is_shown(page, dump, name, turn, left, right):
    """Checks both prompts of a turn and its needs, and returns what the page shows."""
    at = f"{name}, p{turn}, {left} and {right}"
    shown = page.call(SHOWN)
    for side, policy in ("left", left), ("right", right):
        check(shown[side] == dump.prompts[name, turn, policy], f"{at}: the prompt of {policy} is another")
    needs = [dump.needs[name, turn, policy] for policy in (left, right)]
    check(len(shown["needs"]) == len(needs[0]), f"{at}: {len(shown['needs'])} needs, not {len(needs[0])}")
    for number, (row, one, other) in enumerate(zip(shown["needs"], *needs)):
        kind = one["need"] + ("" if one["real"] else ", not real")
        text = one["text"] or "the whole message, new to the agent"
        expected = [str(number), kind, f"p{one['source']}", text, one["fate"], other["fate"]]
        check(row == expected, f"{at}: the page has the need {row}, the dump {expected}")
    for side, told in ("leftMarks", needs[0]), ("rightMarks", needs[1]):
        for number, text, fate in shown[side]:
            need = told[int(number)]
            check(words(text) == words(need["text"]), f"{at}: {text!r} is marked for {need['text']!r}")
            check(fate == need["fate"], f"{at}: {text!r} is marked as {fate}, and is {need['fate']}")
    for number, _, fate in shown["answerMarks"]:
        fates = {told[int(number)]["fate"] for told in needs}
        worst = next(fate for fate in ("lost", "miss", "fetched", "shown") if fate in fates)
        check(fate == worst, f"{at}: the answer marks a need as {fate}, not {worst}")
    return shown["answer"], needs


def places_are_shown(page, at, needs):
    """Checks that the page shows where each need was said. Returns the fate of each, and whether it is
    marked in the prompt on the left."""
    places = page.call(POINT)
    for need, place in zip(needs, places):
        check(place["who"].startswith(f": p{need['source']}, "), f"{at}: {need['text']!r} was said in {place['who']}")
        expected = [words(need["text"])] if need["text"] else []
        check([words(mark) for mark in place["marks"]] == expected, f"{at}: {place['marks']}, not {need['text']!r}")
        yield need["fate"], bool(need["text"]), place["on"] > 0


def is_legible(page):
    """Checks the charts and the width of the page."""
    for size in PHONE, WIDE:
        page.resize(size)
        check(not (said := page.call(ILLEGIBLE)), f"charts at {size[0]} pixels: {'; '.join(said[:5])}")
        wide = page.browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        check(wide <= 0, f"at {size[0]} pixels the page is {wide} too wide")


def page_is_right(browser, path, dump, is_brief=False):
    """Checks a page, briefly one conversation and some policies. Returns what was looked at."""
    page = Page(browser, path)
    is_legible(page)
    names = page.options("scene")
    check(names and set(names) <= set(dump.turns), f"the page has the conversations {names}")
    looked, marks, found = defaultdict(int), 0, 0
    for name in names[: 1 if is_brief else None]:
        page.choose("scene", name)
        turns, policies = page.options("turn"), dump.policies[name]
        numbers = [int(re.search(r": p(\d+), ", turn)[1]) for turn in turns]
        check(numbers == dump.turns[name], f"{name}: the page has the turns {numbers}")
        check(page.options("left") == policies, f"{name}: the page has the policies {page.options('left')}")
        answers = set()
        # The first turn, the last, the one that needs most, and the one in which policies have lost most.
        most_needs = max(range(len(turns)), key=lambda place: len(dump.needs[name, numbers[place], policies[0]]))
        most_lost = max(range(len(turns)), key=lambda place: dump.lost(name, numbers[place]))
        places = sorted({0, most_needs, most_lost, len(turns) - 1})
        for place in places:
            page.choose("turn", turns[place])
            left, right = page.chosen("left"), page.chosen("right")
            answer, _ = turn_is_shown(page, dump, name, numbers[place], left, right)
            answers.add(answer)
            # Each policy stands on both sides, beside another.
            pairs = list(zip(policies, policies[1:] + policies[:1]))
            if is_brief:
                # The policies that lose most, because a brief look must meet each fate.
                pairs = sorted(pairs, key=lambda pair: -dump.lost(name, numbers[place], pair[0]))[:6]
            for left, right in pairs:
                page.choose("left", left)
                page.choose("right", right)
                _, needs = turn_is_shown(page, dump, name, numbers[place], left, right)
                for fate, has_text, is_marked in places_are_shown(page, f"{name}, {turns[place]}", needs[0]):
                    looked[fate] += 1
                    if has_text and fate == "shown":
                        marks, found = marks + 1, found + is_marked
            page.is_quiet()
        check(len(answers) == len(places), f"{name}: another turn shows the same answer")
        # The buttons go to the turns beside.
        page.choose("turn", turns[0])
        page.browser.run("document.getElementById('on').click(); document.getElementById('on').click()")
        page.browser.run("document.getElementById('back').click()")
        turn_is_shown(page, dump, name, numbers[min(1, len(turns) - 1)], left, right)
        # What a prompt lacks, and what differs.
        left, right = policies[0], max(policies, key=lambda policy: dump.lost(name, numbers[most_lost], policy))
        for select, option in (("turn", turns[most_lost]), ("left", left), ("right", right)):
            page.choose(select, option)
        for choice, fits in (
            ("what a prompt lacks", lambda *fates: bool({"miss", "lost"} & set(fates))),
            ("what differs", lambda one, other: one != other),
        ):
            page.choose("filter", choice)
            needs = [dump.needs[name, numbers[most_lost], policy] for policy in (left, right)]
            expected = [str(at) for at, pair in enumerate(zip(*needs)) if fits(*(need["fate"] for need in pair))]
            check([row[0] for row in page.call(SHOWN)["needs"]] == expected, f"{name}: {choice}: not {expected}")
        page.choose("filter", "all")
    for fate in "shown", "miss", "lost":
        check(looked[fate], f"no need of the turns that were looked at is {fate}")
    # An encoding may say a text in letters that the page does not know.
    check(found >= 0.98 * marks, f"the page finds {found} of {marks} texts that a prompt shows")
    page.is_quiet()
    return f"{len(names)} conversations, {sum(looked.values())} needs, {found} of {marks} shown texts found"


# Mistakes in the page: what stands in it, and what stands there instead.
PLANTED = {
    "a script that fails": ("function draw() {", "function draw() { if (at('turn').value > 1) absent();"),
    "an error that is caught and logged": ("function open() {", "function open() { console.error('x');"),
    "a picture from elsewhere": ("<h2>The rules</h2>", '<h2>The rules</h2><img src="http://127.0.0.1:9/x.png">'),
    "a picture and no policy against it": (
        '<meta http-equiv="Content-Security-Policy"', '<img src="http://127.0.0.1:9/x.png"><meta name="none"'
    ),
    "a request of the script": ("function open() {", "function open() { fetch('http://127.0.0.1:9/').catch(() => 0);"),
    "a turn that is not drawn": ("for (const id of ['turn', 'left',", "for (const id of ['left',"),
    "a prompt that is cut": ("return shared.concat(own);", "return shared.concat(own).slice(0, 9);"),
    "another prompt": ("promptOf(scene, turn, right, at('right-prompt'))", "promptOf(scene, turn, left, at('right-prompt'))"),
    "needs of the turn before": ("const { needs, prompts } = scene.turns[turn];\n  const filter", "const { needs, prompts } = scene.turns[Math.max(0, turn - 1)];\n  const filter"),
    "no marks": ("new RegExp(expression(need[1]), 'gu')", "/$^/gu"),
    "marks without their fates": ("FATES[fateOf(numbers[0])] || ''", "'shown'"),
    "a wrong place": ("const place = text ? [[start, end, [number]]] : [];", "const place = text ? [[start + 1, end, [number]]] : [];"),
    "a filter without effect": ("if (filter === 'differ' &&", "if (filter === 'other' &&"),
    "small charts": ("svg{width:100%;min-width:900px;", "svg{width:100%;"),
    "a page that is too wide": ("figure{margin:1.2rem 0;max-width:1080px;overflow-x:auto}", "figure{margin:1.2rem 0}"),
}


def main():
    path, dump = pathlib.Path(sys.argv[1]), Dump(pathlib.Path(sys.argv[2]))
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        try:
            print(page_is_right(browser, path, dump))
            # A mistake must not be found because the brief look finds one in the page itself.
            page_is_right(browser, path, dump, is_brief=True)
        except (Wrong, Failed) as wrong:
            sys.exit(f"{path}: {wrong}")
        text = path.read_text(encoding="utf-8")
        copy = pathlib.Path(folder) / "planted.html"
        for what, (good, bad) in PLANTED.items():
            if text.count(good) != 1:
                sys.exit(f"{what} cannot be planted: the page has {text.count(good)} times {good!r}")
            copy.write_text(text.replace(good, bad), encoding="utf-8")
            try:
                page_is_right(browser, copy, dump, is_brief=True)
            except (Wrong, Failed) as wrong:
                print(f"found: {what}: {str(wrong).splitlines()[0][:120]}")
            else:
                sys.exit(f"{what} was planted, and not found")


if __name__ == "__main__":
    main()
