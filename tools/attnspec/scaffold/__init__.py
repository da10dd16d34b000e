"""Scaffold: the first adapter of a function, from its signature and a few probes.

The probes run the adapter as it would be written, so that the written one has been run.
"""

from attnspec.scaffold.adapter_text import skeleton_adapter
from attnspec.scaffold.functions import Found, find_function
from attnspec.scaffold.guessing import Guessed, guess_adapter

__all__ = ["Found", "Guessed", "find_function", "guess_adapter", "skeleton_adapter"]
