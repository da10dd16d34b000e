"""Compiled programs of JAX are let go before a process has no room for more."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from attnspec.tensors import of_jax  # noqa: E402


def test_programs_are_forgotten_where_mappings_run_out(monkeypatch):
    cleared = []
    monkeypatch.setattr(of_jax.jax, "clear_caches", lambda: cleared.append(1))
    for _ in range(400):
        of_jax.let_go_of_programs()
    assert not cleared
    monkeypatch.setattr(of_jax, "MOST_MAPPINGS", 10)
    for _ in range(200):
        of_jax.let_go_of_programs()
    assert len(cleared) == 1


def test_programs_that_are_kept_are_forgotten_with_them(monkeypatch):
    monkeypatch.setattr(of_jax, "MOST_MAPPINGS", 10)
    tensors = of_jax.tensors(None)
    given = {"x": tensors.given(np.ones(3, np.float32))}
    for _ in range(2):
        tensors.call(lambda named: named["x"] + 1, given, "added")
    assert tensors._programs._programs
    for _ in range(200):
        of_jax.let_go_of_programs(tensors._programs)
    assert not tensors._programs._programs
    assert tensors.returned(tensors.call(lambda named: named["x"] + 1, given, "added")).tolist() == [2, 2, 2]
