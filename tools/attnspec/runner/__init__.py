"""Running implementations over cases."""

from attnspec.comparison import Run
from attnspec.runner.offering import Offered, offered_part
from attnspec.runner.preparing import not_graded
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_once, run_suite

__all__ = ["Offered", "Result", "Run", "not_graded", "offered_part", "prepare_suite", "run_once", "run_suite"]
