"""Whether attnspec says today what it said in the archive: reports, consoles and exit statuses, word for word.

``python tools/benchmarks/same_reports.py compare`` runs what ``runs/recorded_runs.py`` lists, and compares each
result, each sentence and the exit status with the archive, after the renamings of ``same_reports.toml``. ``--only
students,wrong`` selects; ``--recorded FOLDER`` compares what was recorded before; ``--without-figures`` lets numbers
differ that depend on the machine and on the version of NumPy. ``record FOLDER`` records, and ``pack FOLDER ARCHIVE``
makes an archive of it, byte for byte the same each time. torch, onnx and onnxruntime are in the extra
``implementations``.

Exit status: 0 when all is the same, renamed or explained; 1 when something else differs.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import math
import re
import sys
import tarfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, fields, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from runs.recorded_runs import GROUPS, ROOT, RUNS, Run, installed_versions, record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ARCHIVE = ROOT / "tests" / "suite" / "reports.tar.xz"
TABLE = Path(__file__).with_suffix(".toml")
VERSIONS = "versions.json"

MOST_RENAMINGS = 60
"""As many as a reader can check: a text whose every second word has another name is another text."""

FIGURES = ("median", "worst")
"""Fields of a result that depend on how a machine rounds."""

FIGURE = re.compile(
    r"-?\b\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)|\[\d+(?:, \d+)*\]"
    r"|\b\d+(?= times that)|(?<= is )-?\d+(?=; expected)|(?<=; expected )-?\d+(?= within)"
)
"""What depends in a sentence on how a machine rounds: a number that is no count, and which element is the worst."""

SLACK = 0.004
"""Relative difference of figures that counts as none: stored tolerances are rounded up by so much at most."""

DIGITS = 3
"""Digits to which reports round their figures, the last of which may then be the next one."""

RULE = re.compile(r"[─=_]{3,}")
"""A line that is drawn, as long as the table or the heading that it belongs to."""

ALIKE = 0.4
"""Share of words that two sentences must have in common, or one is said to have replaced the other as a whole."""

EXAMPLES = 3


@dataclass(frozen=True)
class Difference:
    """Words or values that are not the same.

    `run`: name of the run; `where`: file and field; `case`: id and dtype of the result; empty elsewhere; `before`: as
    the archive has it, in today's words; `now`: as it is today.
    """

    run: str
    where: str
    case: str
    before: str
    now: str


class Renamings:
    """Whole words and sentences of the archive, to those of today; a capital at their beginning stays one.

    `entries`: tables with ``before`` and ``now``. Where several fit, the longest does; `uses`: how often each was
    found.
    """

    def __init__(self, entries: Sequence[Mapping[str, str]]) -> None:
        self.uses = Counter({entry["before"]: 0 for entry in entries})
        if len(self.uses) != len(entries) or len(entries) > MOST_RENAMINGS:
            raise SystemExit(f"The table must rename each word once, and at most {MOST_RENAMINGS} of them.")
        self._now = {entry["before"]: (entry["before"], entry["now"]) for entry in entries}
        for before, (_, now) in tuple(self._now.items()):
            self._now.setdefault(_capitalised(before), (before, _capitalised(now)))
        words = "|".join(re.escape(word) for word in sorted(self._now, key=len, reverse=True))
        # A word inside an id, such as core/plain or sdpa.causal, is no word of a sentence.
        self._pattern = re.compile(rf"(?<![\w/.-])(?:{words})(?![\w/-]|\.\w)") if words else None

    def today(self, text: str) -> str:
        """Return a text of the archive in today's words."""
        return self._pattern.sub(self._renamed, text) if self._pattern else text

    def concern(self, text: str) -> bool:
        """Whether a text of the archive has a word that is another one today."""
        return self._pattern is not None and self._pattern.search(text) is not None

    def _renamed(self, found: re.Match[str]) -> str:
        entry, now = self._now[found[0]]
        self.uses[entry] += 1
        return now


@dataclass(frozen=True)
class Comparison:
    """How two recordings are compared.

    `renamings`: what is called otherwise today; `figures`: whether numbers that depend on the machine must be the same.
    """

    renamings: Renamings
    figures: bool

    def differences(self, run: Run, old: Path, new: Path) -> Iterator[Difference]:
        """Compare all that was kept of one run."""
        for name in sorted({path.name for path in (*old.glob("*"), *new.glob("*"))}):
            for found in self._of_file(name, *(_read(folder / name) for folder in (old, new))):
                yield replace(found, run=run.name, where=f"{name} {found.where}".rstrip())

    def _of_file(self, name: str, old: str | None, new: str | None) -> Iterator[Difference]:
        if old is None or new is None:
            yield Difference("", "", "", *("not written" if text is None else "written" for text in (old, new)))
        elif old == new and not self.renamings.concern(old):
            return
        elif name.endswith(".json"):
            yield from self._of_values("", "", json.loads(old), json.loads(new))
        else:
            units = _paragraphs if name.endswith(".txt") else str.splitlines
            yield from self._of_texts(units(old), units(new))

    def _of_texts(self, old: Sequence[str], new: Sequence[str]) -> Iterator[Difference]:
        before = [self._comparable(self.renamings.today(text)) for text in old]
        now = [self._comparable(text) for text in new]
        for kind, start, end, new_start, new_end in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
            if kind != "equal":
                for pair in zip_longest(before[start:end], now[new_start:new_end], fillvalue=""):
                    yield from _word_differences("", "", *pair)

    def _of_values(self, where: str, case: str, old: Any, new: Any) -> Iterator[Difference]:
        if isinstance(old, str) and isinstance(new, str):
            yield from _word_differences(where, case, *map(self._comparable, (self.renamings.today(old), new)))
        elif isinstance(old, dict) and isinstance(new, dict):
            for name in sorted(old.keys() | new.keys()):
                if self.figures or name not in FIGURES:
                    inner = f"{where}.{name}".lstrip(".")
                    yield from self._of_values(inner, case, *(value.get(name, _MISSING) for value in (old, new)))
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._of_lists(where, case, old, new)
        elif isinstance(old, float) and isinstance(new, float):
            if self.figures and old != new and not _near(old, new):
                yield Difference("", where, case, _shown(old), _shown(new))
        elif old != new:
            yield Difference("", where, case, _shown(old), _shown(new))

    def _of_lists(self, where: str, case: str, old: list[Any], new: list[Any]) -> Iterator[Difference]:
        if where == "results":
            results = [{_case_of(result): result for result in results} for results in (old, new)]
            for name in dict.fromkeys([*results[0], *results[1]]):
                yield from self._of_values("result", name, *(found.get(name, _MISSING) for found in results))
        else:
            for pair in zip_longest(old, new, fillvalue=_MISSING):
                yield from self._of_values(where, case, *pair)

    def _comparable(self, text: str) -> str:
        return text if self.figures else FIGURE.sub("NUMBER", text)


_MISSING = "none"
"""What stands for an entry that one of two recordings lacks."""


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a program


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _case_of(result: Mapping[str, Any]) -> str:
    return f"{result['case']} ({result['dtype']})"


def _shown(value: Any) -> str:
    return f"a {type(value).__name__}" if isinstance(value, dict | list) else str(value)


def _paragraphs(text: str) -> list[str]:
    """Return what stands between empty lines, each without its line breaks, which move with a word; tables by line."""
    found: list[str] = []
    for block in re.split(r"\n\s*\n", text):
        lines = [" ".join(RULE.sub("", line).split()) for line in block.splitlines()]
        found += lines if "───" in block else [" ".join(lines)]
    return [unit for unit in found if unit]


def _differ_in_figures_alone(before: str, now: str) -> bool:
    """Return whether two texts are the same but for figures, each of which is nearly the other's."""
    if FIGURE.sub("", before) != FIGURE.sub("", now):
        return False
    pairs = zip(FIGURE.findall(before), FIGURE.findall(now), strict=True)
    return all(one == other or ("[" not in one and _near(float(one), float(other))) for one, other in pairs)


def _near(before: float, now: float) -> bool:
    size = max(abs(before), abs(now))
    last_digit = 10.0 ** (math.floor(math.log10(size)) + 1 - DIGITS) if 0 < size < math.inf else 0.0
    return before == now or abs(before - now) <= SLACK * size + 1.001 * last_digit


def _word_differences(where: str, case: str, before: str, now: str) -> Iterator[Difference]:
    """Return the words that two texts do not share, word by word."""
    if before == now or _differ_in_figures_alone(before, now):
        return
    words, today = before.split(" "), now.split(" ")
    matcher = SequenceMatcher(None, words, today, autojunk=False)
    if matcher.ratio() < ALIKE:
        yield Difference("", where, case, before, now)
        return
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind != "equal":
            yield Difference("", where, case, " ".join(words[start:end]), " ".join(today[new_start:new_end]))


def _matches(entry: Mapping[str, str], difference: Difference) -> bool:
    """Whether an explanation is about a difference: each field that it has must fit, an asterisk fits anything."""
    return all(
        re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), getattr(difference, name), re.DOTALL)
        for name, pattern in entry.items()
        if name != "reason"
    )


def compare(comparison: Comparison, runs: Sequence[Run], old: Path, new: Path) -> list[Difference]:
    """Compare what was kept of runs, and print how many differences each has."""
    found: list[Difference] = []
    for run in runs:
        differences = list(comparison.differences(run, old / run.name, new / run.name))
        _say(f"{run.name}: {f'{len(differences)} differences' if differences else 'the same'}")
        found += differences
    for before, uses in comparison.renamings.uses.items():
        _say(f"renamed {uses} times: {before}")
    return found


def report(found: Sequence[Difference], explanations: Sequence[Mapping[str, str]]) -> bool:
    """Print how often each explanation is used, and what none explains, equal ones once; return whether any is left."""
    known = {field.name for field in fields(Difference)}
    if any("reason" not in entry or len(entry) < 2 or entry.keys() - known - {"reason"} for entry in explanations):
        raise SystemExit(f"Each explanation in the table needs a reason, and some of {', '.join(sorted(known))}.")
    uses = Counter[int]()
    groups: dict[Difference, list[Difference]] = {}
    for difference in found:
        index = next((index for index, entry in enumerate(explanations) if _matches(entry, difference)), None)
        if index is not None:
            uses[index] += 1
        else:
            groups.setdefault(replace(difference, run="", case=""), []).append(difference)
    for index, entry in enumerate(explanations):
        _say(f"explained {uses[index]} times: {entry['reason']}")
    for shape, members in sorted(groups.items(), key=lambda group: -len(group[1])):
        examples = dict.fromkeys(f"{member.run} {member.case}".rstrip() for member in members)
        more = f" and {len(examples) - EXAMPLES} more" if len(examples) > EXAMPLES else ""
        _say(f"\n{len(members)} times in {shape.where}: {', '.join([*examples][:EXAMPLES])}{more}")
        _say(f"  before: {shape.before}\n  now:    {shape.now}")
    if groups:
        _say(f"\nWhat is meant goes into {TABLE.relative_to(ROOT)}: a renamed word or sentence, or a reason.")
    return bool(groups)


def record_all(runs: Sequence[Run], folder: Path, renamed: Mapping[str, str], *, earlier: Path) -> None:
    """Record runs into a folder."""
    for run in runs:
        start = time.monotonic()
        record(run, folder, earlier=earlier, fields=renamed)
        _say(f"{run.name}: ran {time.monotonic() - start:.0f} s")
    (folder / VERSIONS).write_text(json.dumps(installed_versions(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


def pack(folder: Path, archive: Path) -> None:
    """Pack a recording, without owners and times, in the order of the names."""
    with tarfile.open(archive, "w:xz", preset=9 | lzma.PRESET_EXTREME) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            content = path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    _say(f"{archive}: {archive.stat().st_size / 1e6:.2f} MB")


def unpack(archive: Path, folder: Path, runs: Sequence[Run]) -> None:
    """Unpack what was kept of runs, and what they read."""
    wanted = {VERSIONS, *(run.name for run in runs), *(run.reads.partition("/")[0] for run in runs)}
    with tarfile.open(archive) as packed:
        members = [member for member in packed if member.name.partition("/")[0] in wanted]
        packed.extractall(folder, members, filter="data")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record, pack or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ways = {name: commands.add_parser(name) for name in ("record", "pack", "compare")}
    for name in ("record", "pack"):
        ways[name].add_argument("folder", type=Path)
    ways["pack"].add_argument("archive", type=Path)
    for name in ("record", "compare"):
        ways[name].add_argument(
            "--only", default=",".join(GROUPS), help=f"some of {', '.join(GROUPS)}, or runs by name"
        )
    ways["compare"].add_argument("--recorded", type=Path, help="a folder that was recorded, instead of running")
    ways["compare"].add_argument("--archive", type=Path, default=ARCHIVE)
    ways["compare"].add_argument("--without-figures", action="store_true")
    for name in ("record", "compare"):
        ways[name].add_argument("--table", type=Path, default=TABLE, help="renamings and explanations")
    options = parser.parse_args(arguments)
    if options.command == "pack":
        pack(options.folder, options.archive)
        return 0
    wanted = set(options.only.split(","))
    if unknown := wanted - {name for run in RUNS for name in (run.name, run.group)}:
        parser.error(f"--only {','.join(sorted(unknown))}: there is {', '.join(GROUPS)}")
    runs = [run for run in RUNS if wanted & {run.name, run.group}]
    table: dict[str, Any] = {"fields": {}, "renamed": [], "explained": []}
    table |= tomllib.loads(options.table.read_text(encoding="utf-8"))
    if options.command == "record":
        record_all(runs, options.folder, table["fields"], earlier=options.folder)
        return 0
    comparison = Comparison(Renamings(table["renamed"]), figures=not options.without_figures)
    with TemporaryDirectory() as folder:
        old, new = Path(folder) / "old", options.recorded or Path(folder) / "new"
        unpack(options.archive, old, runs)
        if options.recorded is None:
            record_all(runs, new, table["fields"], earlier=old)
        if changed := _changed_versions(old, new):
            _say(f"Other versions than the archive has, so that numbers may differ: {changed}")
        found = compare(comparison, runs, old, new)
    return 1 if report(found, table["explained"]) else 0


def _changed_versions(old: Path, new: Path) -> str:
    before, now = (json.loads((folder / VERSIONS).read_text(encoding="utf-8")) for folder in (old, new))
    return ", ".join(f"{name} {before.get(name)} → {now[name]}" for name in now if now[name] != before.get(name))


if __name__ == "__main__":
    sys.exit(main())
