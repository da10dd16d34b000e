"""Running implementations over cases."""

from attnspec.runner.preparing import Run
from attnspec.runner.result import Result
from attnspec.runner.running import prepare_suite, run_once, run_suite

__all__ = ["Result", "Run", "prepare_suite", "run_once", "run_suite"]
