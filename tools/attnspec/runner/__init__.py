"""Running implementations over cases."""

from attnspec.runner.result import Result
from attnspec.runner.running import run_suite

__all__ = ["Result", "run_suite"]
