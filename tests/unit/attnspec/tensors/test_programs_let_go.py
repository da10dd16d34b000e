"""Compiled programs of JAX are let go before a process has no room for more."""

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
