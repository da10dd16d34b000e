"""Running implementations over cases."""

from attnspec.comparison import Run
from attnspec.runner.preparing import not_graded
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_once, run_suite

__all__ = ["Result", "Run", "not_graded", "prepare_suite", "run_once", "run_suite"]
