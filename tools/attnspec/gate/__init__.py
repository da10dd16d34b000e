"""Gate: a run compared with a baseline, strict without being annoying."""

from attnspec.gate.annotations import github_annotations
from attnspec.gate.baseline import Baseline, Entry
from attnspec.gate.decision import Demands, judge
from attnspec.gate.finding import Finding, Outcome
from attnspec.gate.group import Group
from attnspec.gate.knowing import Known, known_of
from attnspec.gate.markdown_summary import outcome_markdown
from attnspec.gate.printed import print_outcome
from attnspec.gate.sentences import (
    diagnosis_of_unexpected,
    diagnosis_sentences,
    format_sentences,
    suite_sentences,
    update_sentences,
)
from attnspec.gate.single_results import HeldAgainst
from attnspec.gate.storing import read_baseline, write_baseline
from attnspec.gate.updating import updated

__all__ = [
    "Baseline",
    "Demands",
    "Entry",
    "Finding",
    "Group",
    "HeldAgainst",
    "Known",
    "Outcome",
    "diagnosis_of_unexpected",
    "diagnosis_sentences",
    "format_sentences",
    "github_annotations",
    "judge",
    "known_of",
    "outcome_markdown",
    "print_outcome",
    "read_baseline",
    "suite_sentences",
    "update_sentences",
    "updated",
    "write_baseline",
]
