"""The gate: a run held against a baseline, strict without being annoying."""

from attnspec.gate.baseline import Baseline, Entry, read_baseline, write_baseline
from attnspec.gate.console import print_outcome
from attnspec.gate.finding import Finding, Outcome
from attnspec.gate.judging import Demands, judge
from attnspec.gate.markdown import outcome_markdown
from attnspec.gate.single_results import HeldAgainst
from attnspec.gate.updating import updated
from attnspec.gate.wording import diagnosis_sentences, suite_sentences, update_sentence

__all__ = [
    "Baseline",
    "Demands",
    "Entry",
    "Finding",
    "HeldAgainst",
    "Outcome",
    "diagnosis_sentences",
    "judge",
    "outcome_markdown",
    "print_outcome",
    "read_baseline",
    "suite_sentences",
    "update_sentence",
    "updated",
    "write_baseline",
]
