"""Running implementations over cases."""

from attnspec.grading import Run
from attnspec.runner.checks import beside_counterparts
from attnspec.runner.memory_order import arrays_of, in_memory_orders, inputs_of, request_of
from attnspec.runner.planning import (
    Offered,
    Resolved,
    Share,
    not_graded,
    offered_part,
    planned_runs,
    share_of,
)
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_once, run_suite
from attnspec.runner.session import OCCASIONS, Follower, Kept, Key, Occasion

__all__ = [
    "OCCASIONS",
    "Follower",
    "Kept",
    "Key",
    "Occasion",
    "Offered",
    "Resolved",
    "Result",
    "Run",
    "Share",
    "arrays_of",
    "beside_counterparts",
    "in_memory_orders",
    "inputs_of",
    "not_graded",
    "offered_part",
    "planned_runs",
    "prepare_suite",
    "request_of",
    "run_once",
    "run_suite",
    "share_of",
]
