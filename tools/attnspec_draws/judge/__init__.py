"""Judging candidates that nobody vouches for: hidden draws at their user's shapes, in a process of their own."""

from attnspec_draws.judge.candidate import Conditions
from attnspec_draws.judge.judging import DRAWS, judge, judged
from attnspec_draws.judge.shapes import Shape, read_shapes, shapes_from
from attnspec_draws.judge.verdict import JudgeReport, Tally

__all__ = [
    "DRAWS",
    "Conditions",
    "JudgeReport",
    "Shape",
    "Tally",
    "judge",
    "judged",
    "read_shapes",
    "shapes_from",
]
