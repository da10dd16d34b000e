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
ELSEWHERE = re.compile(
    r"golden/|spec/studies/|spec/results/.+/|tests/strangers/|tests/moved\.tsv$|tests/published_bugs\.json$|CHANGELOG\.md$|LICENSE$|tools/benchmarks/same_reports\.toml$"
)
"""Released bytes, dated results, words of libraries and of strangers, history, the licence, the table of renamings."""
FROZEN: dict[str, set[str]] = {
    # Fields and files of format 1.
    "spec/guides/blind-batches.md": {"reach"},
    "spec/judging.md": {"judgement"},
    "spec/results/README.md": {"presentation"},
    "spec/schemas/case.schema.json": {"presentation", "twin"},
    "spec/schemas/export.schema.json": {"owed"},
    "spec/schemas/judgement.schema.json": {"impostors", "judgement", "told"},
    "spec/schemas/report.schema.json": {"asked", "reach", "told"},
    "tests/suite/golden/test_golden_files.py": {"twin"},
    "tests/unit/attnspec/cases/test_generated.py": {"presentation"},
    "tests/unit/attnspec/cases/test_reading.py": {"twin"},
    "tests/unit/attnspec/reports/test_report.py": {"asked"},
    "tests/unit/attnspec_authoring/releases/test_promise.py": {"presentation", "twin"},
    "tests/unit/attnspec_authoring/strangers/test_index.py": {"reach"},
    "tests/unit/attnspec_draws/judge/test_certificate.py": {"impostors", "told"},
    "tests/unit/attnspec_draws/judge/test_judging.py": {"judgement"},
    "tools/attnspec/cases/case.py": {"presentation", "twin"},
    "tools/attnspec/cases/consistency.py": {"presentation"},
    "tools/attnspec/cases/releases.py": {"presentation"},
    "tools/attnspec/cases/selecting.py": {"twin"},
    "tools/attnspec/offline/manifest.py": {"owed"},
    "tools/attnspec/reports/document.py": {"asked"},
    "tools/attnspec/reports/entries.py": {"told"},
    "tools/attnspec/reports/formats/markdown.py": {"asked"},
    "tools/attnspec/reports/report.py": {"asked", "reach", "told"},
    "tools/attnspec_authoring/regeneration/filling.py": {"presentation", "twin"},
    "tools/attnspec_authoring/strangers/index.py": {"reach"},
    "tools/attnspec_draws/commands/campaign_files.py": {"twin"},
    "tools/attnspec_draws/judge/certificate.py": {"impostors", "told"},
    "tools/attnspec_draws/judge/verdict.py": {"judgement"},
    "tools/attnspec_probes/attention/single_laws/attended_laws.py": {"place"},
    # Ids of mistakes and controls, and a link.
    "reference_impl/attnspec_controls/attention/backward_softmax.py": {"owed"},
    "tests/unit/attnspec_mistakes/test_controls.py": {"owed"},
    "reference_impl/attnspec_mistakes/attention/backward/backward_heads.json": {"place"},
    "reference_impl/attnspec_mistakes/attention/backward/backward_heads.py": {"place"},
    "reference_impl/attnspec_mistakes/attention/forward/forward_scores.json": {"lattice"},
    "reference_impl/attnspec_mistakes/attention/forward/paged_positions.json": {"place"},
    "reference_impl/attnspec_mistakes/attention/forward/paged_positions.py": {"place"},
    "reference_impl/attnspec_mistakes/kill_matrix.json": {"asked", "place", "twin"},
    "reference_impl/attnspec_mistakes/labelled_mistakes.json": {"asked", "held", "twin"},
    # Names of others: an argument of Paddle, a property of CSS, old names that are counted.
    "tools/attnspec/reports/html/page.css": {"place"},
    "tools/attnspec_adapters/paddle.py": {"place"},
    "tools/benchmarks/house.py": {"judged.json", "noticed.json"},
    # Texts and names of released cases, whose bytes stay.
    "tools/attnspec_authoring/recipes/attention/alibi.py": {"place"},
    "tools/attnspec_authoring/recipes/attention/backward/blocks.py": {"reach"},
    "tools/attnspec_authoring/recipes/attention/backward/features.py": {"owed", "twin"},
    "tools/attnspec_authoring/recipes/attention/backward/numbers.py": {"tell"},
    "tools/attnspec_authoring/recipes/attention/backward/rejects.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/backward/targets.py": {"place"},
    "tools/attnspec_authoring/recipes/attention/core.py": {"asked"},
    "tools/attnspec_authoring/recipes/attention/documents/document_001_step_by_step.py": {"starting"},
    "tools/attnspec_authoring/recipes/attention/documents/document_002_multi_head_module.py": {"asked", "place"},
    "tools/attnspec_authoring/recipes/attention/documents/document_002_one_head.py": {"asked"},
    "tools/attnspec_authoring/recipes/attention/layout/softmax.py": {"held"},
    "tools/attnspec_authoring/recipes/attention/masking/masks.py": {"tell"},
    "tools/attnspec_authoring/recipes/attention/merge/laws.py": {"places"},
    "tools/attnspec_authoring/recipes/attention/merge/rejects.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/merge/splits.py": {"places"},
    "tools/attnspec_authoring/recipes/attention/nonfinite/attended.py": {"reach"},
    "tools/attnspec_authoring/recipes/attention/pairs/context_vector_rows.txt": {"asking"},
    "tools/attnspec_authoring/recipes/attention/pairs/layers.py": {"asking"},
    "tools/attnspec_authoring/recipes/attention/rejects/counterparts.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/rejects/others.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/rejects/shapes.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/rejects/sizes.py": {"twin"},
    "tools/attnspec_authoring/recipes/attention/stress/extents.py": {"lattice"},
    "tools/attnspec_authoring/recipes/attention/targets.py": {"place"},
    "tools/attnspec_authoring/recipes/rotary/rotary/bounds.py": {"twin"},
    "tools/attnspec_authoring/recipes/rotary/rotary/rejects.py": {"twin"},
    "tools/attnspec_authoring/recipes/rotary/rotary/sizes.py": {"twin"},
    "tools/attnspec_authoring/recipes/rotary/rotary/tables.py": {"asked", "places"},
    # Words of random cases: what a user leaves out, and seeds.
    "spec/draws.md": {"presentation"},
    "tests/unit/attnspec_draws/attention/test_case_generators.py": {"presentation", "reach"},
    "tests/unit/attnspec_draws/attention/test_causal.py": {"reach"},
    "tests/unit/attnspec_draws/rotary/test_frequencies.py": {"reach"},
    "tests/unit/attnspec_draws/test_grading.py": {"presentation"},
    "tests/use/command_line/test_campaign.py": {"presentation"},
    "tools/attnspec_draws/generators/memory.py": {"presentation"},
}
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
