"""Lets compaction-conformance-kit judge `accp context`: what users have said has to stand in each of five summaries
in a row, by the rules alone and with marks. The dumbest compaction has to be seen through.

Usage: kit.py ACCP [SEEDS], the command and the number of generated sessions.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from compaction_kit.canaries import Canary, CanaryType
from compaction_kit.compacted import CompactedContext
from compaction_kit.generated import build_generated_session
from compaction_kit.report import ConformanceReport
from compaction_kit.session import Turn
from compaction_kit.testing import check_compactor

ROUNDS = 5
WINDOW = 4096
# What is said while a conversation goes on. It fills half of the window, most of it with words of the assistant: what
# the users of this kit say, first and later, has to fit in the other half, in all rounds together.
MORE = [
    "The staging deploy finished and the smoke checks passed.",
    "Walking through the queue configuration for the background workers.",
    "The retry counts of the importer look stable this week.",
    "Pairing on the flaky test in the checkout module this afternoon.",
    "The load balancer probes run every ten seconds.",
]
PAIRS = 4
ANSWER = 50


class Context:
    """Compacts with `accp context`, as a program does: the last list, grown, is compressed again."""

    name = "accp context"

    def __init__(self, accp: str, marks: bool, folder: Path) -> None:
        self.accp = accp
        self.marks = marks
        self.folder = folder
        self.list: list[dict] = []
        self.text = ""
        self.canaries: set[str] = set()
        self.tokens = 0

    def run(self, *args: str) -> str:
        command = [self.accp, "context", *args, "--session", "kit", "--root", str(self.folder / "root")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def compress(self) -> list[dict]:
        """Compresses the list, and returns the events."""
        given, report = self.folder / "list.json", self.folder / "report.json"
        given.write_text(json.dumps(self.list), encoding="utf-8")
        out = self.run("compress", "--window", str(WINDOW), "--report", str(report), str(given))
        self.list = json.loads(out)
        said = json.loads(report.read_text(encoding="utf-8"))
        self.tokens = said["tokens_after"]
        return said["events"]

    def compact(self, turns: list[Turn], round_num: int = 1) -> CompactedContext:
        if round_num == 1:
            self.list = [{"role": turn.role, "content": turn.text} for turn in turns]
            self.canaries = {turn.text for turn in turns if turn.canary_id}
            if self.marks:
                self.mark(turns)
        elif [turn.text for turn in turns] != [self.text]:
            sys.exit("the kit gives something else than the last list")
        for pair in range(PAIRS):
            said = f"{MORE[pair % len(MORE)]} (day {round_num}, note {pair})"
            self.list.append({"role": "user", "content": said})
            answer = [f"Step {step} of note {pair} is done, and nothing failed in it." for step in range(ANSWER)]
            self.list.append({"role": "assistant", "content": " ".join(answer)})
        tiers = [event["type"] for event in self.compress()]
        if "TIER_3" not in tiers:
            sys.exit(f"round {round_num}: no summary was written: {tiers}")
        if any(message["content"] in self.canaries for message in self.list):
            sys.exit(f"round {round_num}: a message stands in the list that should have left")
        self.text = "\n".join(f"[{message['role']}] {message['content']}" for message in self.list)
        return CompactedContext(text=self.text, compactor_name=self.name, round_num=round_num)

    def mark(self, turns: list[Turn]) -> None:
        if self.compress():
            sys.exit("a tier has acted before the messages were marked")
        for index, turn in enumerate(turns):
            if turn.canary_id:
                self.run("mark", str(index))


class LastFive:
    """The dumbest compaction: the last five messages."""

    name = "last five"

    def compact(self, turns: list[Turn], round_num: int = 1) -> CompactedContext:
        text = "\n".join(f"[{turn.role}] {turn.text}" for turn in turns[-5:])
        return CompactedContext(text=text, compactor_name=self.name, round_num=round_num)


def is_silent(report: ConformanceReport) -> bool:
    all_types = {kind.value for kind in CanaryType}
    whole = all(finding.final_survival == 1.0 for finding in report.findings)
    return set(report.silent_types) == all_types and not report.late_cliff_types and whole


def complaints(report: ConformanceReport, canaries: list[Canary]) -> list[str]:
    said = {canary.id: canary.content for canary in canaries}
    lost = [one for one in report.diagnoses if one.lost]
    return [f"  round {one.lost_round}: {one.missing_tokens} of {said[one.canary_id]!r}" for one in lost]


def main() -> None:
    accp, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 12
    silent: Counter = Counter()
    stale: Counter = Counter()
    for seed in range(1, seeds + 1):
        session, canaries = build_generated_session(seed)
        for way in ("by rules", "with marks", "last five"):
            with tempfile.TemporaryDirectory() as folder:
                compactor = LastFive() if way == "last five" else Context(accp, way == "with marks", Path(folder))
                report = check_compactor(compactor, session=session, canaries=canaries, rounds=ROUNDS)
            silent[way] += is_silent(report)
            stale[way] += sum(bool(one.stale_tokens) for one in report.diagnoses)
            if way != "last five" and not is_silent(report):
                print(f"seed {seed}, {way}:", *complaints(report, canaries), sep="\n")
    for way, count in silent.items():
        print(f"compaction-conformance-kit, {way}: silent on {count} of {seeds} sessions, {stale[way]} old values beside the new")
    if silent["by rules"] != seeds or silent["with marks"] != seeds or silent["last five"] or not seeds:
        sys.exit("the kit is not silent on all sessions, or does not see through the dumbest compaction")


main()
