"""Running implementations over cases."""

from attnspec.grading import Run
from attnspec.runner.checks import beside_counterparts
from attnspec.runner.memory_order import in_memory_orders, inputs_as_handed_over, inputs_in_c_order, request_of
from attnspec.runner.planning import (
    Offered,
    Resolved,
    Share,
    offered_part,
    planned_runs,
    share_of,
    ungraded_run,
)
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_by_itself, run_once, run_suite
from attnspec.runner.session import OCCASIONS, Follower, Kept, Key, Occasion, Session

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
    "Session",
    "Share",
    "beside_counterparts",
    "in_memory_orders",
    "inputs_as_handed_over",
    "inputs_in_c_order",
    "offered_part",
    "planned_runs",
    "prepare_suite",
    "request_of",
    "run_by_itself",
    "run_once",
    "run_suite",
    "share_of",
    "ungraded_run",
]
