"""Calling a wrong implementation again, with probes of the diagnosis's own, to measure what it computes."""

from attnspec.probing.asking import Asking, OutOfCallsError
from attnspec.probing.measuring import measured

__all__ = ["Asking", "OutOfCallsError", "measured"]
