"""Old words: since decision 42 each has one successor, and stands nowhere but where format 1 is read or written."""

import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUCCESSORS = {
    "owed": "expected, required",
    "told": "reported, said",
    "tell": "report, say",
    "place": "index, position",
    "places": "indices, positions",
    "asking": "calling",
    "asked": "called, requested",
    "held": "bounded, kept",
    "reach": "interval, extent",
    "departure": "patch",
    "departures": "patches",
    "noticed.json": "kill_matrix.json",
    "judged.json": "labelled_mistakes.json",
    "starting": "scaffold",
    "impostor": "trivial answer",
    "impostors": "trivial answers",
    "lattice": "case generator",
    "lattices": "case generators",
    "twin": "valid counterpart",
    "twins": "valid counterparts",
    "presentation": "memory order",
    "lying": "strides",
    "imprint": "fingerprint",
    "manners": "protocol checks",
    "patience": "timeout",
    "keeper": "watchdog",
    "remains": "recovered results",
    "judgement": "judge",
}
ELSEWHERE = re.compile(r"golden/|spec/studies/|tests/strangers/|CHANGELOG\.md$|tools/benchmarks/same_reports\.toml$")
"""Released bytes, dated results, what strangers wrote, history, and the table of renamings."""
FROZEN: dict[str, set[str]] = {}
"""Files that read or write format 1, and which of its words they hold."""

WORD = re.compile(r"[A-Za-z]+\.json|[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


_IN_PLACE = re.compile(r"(?i)in[-_ \n]+place(?![a-z])")


def old_words(text: str) -> Counter[str]:
    """Count the old words of a text, alone or as a part of a name; an operation in place is the field's own word."""
    text = _IN_PLACE.sub(" ", text)
    return Counter(word.lower() for word in WORD.findall(text) if word.lower() in SUCCESSORS)


def texts() -> dict[str, str]:
    """Return path to text of the files that are tracked and hold today's words."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = {}
    for path in filter(None, listed.split("\0")):
        if ELSEWHERE.match(path) or (ROOT / path) == Path(__file__):
            continue
        try:
            found[path] = (ROOT / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
    return found


def test_no_old_word_is_left():
    found = {
        f"{path}: {word}, {count} times; say {SUCCESSORS[word]}"
        for path, text in texts().items()
        for word, count in old_words(text).items()
        if word not in FROZEN.get(path, ())
    }
    assert not found, "\n".join(sorted(found))


def test_what_is_frozen_is_still_there():
    found = {path: old_words(text) for path, text in texts().items()}
    gone = {(path, word) for path, words in FROZEN.items() for word in words if word not in found.get(path, ())}
    assert not gone, "no longer needed"


def test_a_part_of_a_name_counts_and_a_longer_word_does_not():
    assert old_words("is_told, TOLD_BESIDE, DrawTold, judged.json") == {"told": 3, "judged.json": 1}
    assert not old_words("replace, placed, reached, latticed, toll, twinkle")
