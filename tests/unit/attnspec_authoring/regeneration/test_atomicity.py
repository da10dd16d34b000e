"""Whatever interrupts a regeneration, every file is old or new, never half, and the next one mends the folder."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attnspec.base.errors import UsageError
from attnspec_authoring.regeneration import regenerate

KILL_EVERYWHERE = Path(__file__).with_name("kill_everywhere.py")


@pytest.fixture
def old_and_new(recipes, tmp_path, texts):
    """Return the files of a folder before and after a change of every recipe."""
    recipes.make(*(replace(case, title=f"Old: {case.title}") for case in recipes.few))
    regenerate(tmp_path / "golden")
    old = texts(tmp_path / "golden")
    recipes.make(*recipes.few)
    regenerate(tmp_path / "new")
    return old, texts(tmp_path / "new")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device", "golden")])
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.chmod", "pathlib.Path.replace"])
@pytest.mark.parametrize("after", range(5))
def test_an_interruption_leaves_old_or_new_files(folder, old_and_new, texts, monkeypatch, step, after, error) -> None:
    old, new = old_and_new
    owner, name = step.rsplit(".", 1)
    genuine = os.fsync if owner == "os" else getattr(Path, name)
    calls = []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > after:
            raise error
        return genuine(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(step, interrupted)
        with pytest.raises(UsageError if isinstance(error, OSError) else KeyboardInterrupt):
            regenerate(folder)
    present = texts(folder)
    assert present.keys() == new.keys()
    assert [name for name, content in present.items() if content not in (old[name], new[name])] == []
    assert sum(present[name] == new[name] for name in new) == after
    regenerate(folder)
    assert texts(folder) == new


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_at_any_moment_leaves_old_or_new_files(folder) -> None:
    done = subprocess.run(
        [sys.executable, str(KILL_EVERYWHERE), str(folder)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Five files, each with a temporary file that is opened, given its mode and moved to its path.
    assert int(done.stdout) > 15
