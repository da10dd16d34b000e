"""Judging candidates that nobody vouches for: hidden draws at their user's shapes, in a process of their own."""

from attnspec.judgement.candidate import Conditions
from attnspec.judgement.judging import DRAWS, judge, judged
from attnspec.judgement.shapes import Shape, read_shapes, shapes_from
from attnspec.judgement.verdict import Judgement, Tally

__all__ = [
    "DRAWS",
    "Conditions",
    "Judgement",
    "Shape",
    "Tally",
    "judge",
    "judged",
    "read_shapes",
    "shapes_from",
]
