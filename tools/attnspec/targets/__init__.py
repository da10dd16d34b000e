"""Adapters: how the harness reaches software under test."""

from attnspec.contract.implementation import (
    Answer,
    Crashed,
    Declaration,
    Declined,
    Implementation,
    Malformed,
    Outputs,
    Raised,
    Request,
    TimedOut,
)
from attnspec.targets.loading import load

__all__ = [
    "Answer",
    "Crashed",
    "Declaration",
    "Declined",
    "Implementation",
    "Malformed",
    "Outputs",
    "Raised",
    "Request",
    "TimedOut",
    "load",
]
