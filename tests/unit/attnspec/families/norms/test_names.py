"""Usual names of norms in software: functions as people write them are read by the names of their arguments."""

import inspect

import pytest

from attnspec.contract import OPERATIONS
from attnspec.families.norms.family import FAMILY


def llama(hidden_states, weight, eps):
    return hidden_states, weight, eps


def gemma(x, scale, variance_epsilon):
    return x, scale, variance_epsilon


def fused(q, k, q_weight, k_weight, cos, sin, eps):
    return q, k, q_weight, k_weight, cos, sin, eps


@pytest.mark.parametrize(("operation", "function"), [("rms_norm", llama), ("rms_norm", gemma), ("qk_norm", fused)])
def test_every_argument_has_a_usual_name(operation, function):
    usual = FAMILY.usual_names()
    arguments = [name for name in OPERATIONS[operation].arguments if name in usual]
    for own in inspect.signature(function).parameters:
        assert [name for name in arguments if own == name or own in usual[name]], own
