"""Running implementations over cases."""

from attnspec.comparison import Run
from attnspec.runner.following import OCCASIONS, Follower, Kept, Key, Occasion
from attnspec.runner.judging import judged
from attnspec.runner.offering import Offered, offered_part
from attnspec.runner.planning import Resolved, asked_in_layout, planned_dtypes, planned_runs, resolved_for
from attnspec.runner.preparing import not_graded
from attnspec.runner.presenting import arrays_of, inputs_of, own_attributes, presented_all, request_of
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_once, run_suite
from attnspec.runner.sharing import Share, share_of
from attnspec.runner.twins import beside_their_twins

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
    "asked_in_layout",
    "beside_their_twins",
    "inputs_of",
    "judged",
    "not_graded",
    "offered_part",
    "own_attributes",
    "planned_dtypes",
    "planned_runs",
    "prepare_suite",
    "presented_all",
    "request_of",
    "resolved_for",
    "run_once",
    "run_suite",
    "share_of",
]
