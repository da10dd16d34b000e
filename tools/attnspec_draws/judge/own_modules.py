"""Modules of the judge, loaded before a candidate is started: the disk afterwards may be its work."""

import importlib
import json
import pkgutil
import sys
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from attnspec.base.errors import UsageError

_NAMES: Mapping[str, Collection[str]] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
"""Names by their use, read before a candidate is started.

`packages`: of these some modules are loaded late, for a command that needs none of them starts sooner. `others`: those
that NumPy and the standard library load late, and that these packages import where needed. `elsewhere`: those that need
other libraries and run in the candidate's process alone, and those of a campaign. `trusted`: what a verdict rests on
beside the standard library; none may come from where a candidate lies.
"""


def load_own_modules(targets: Collection[str]) -> None:
    """Load all modules that the judge may need, none from the folders of targets that are files.

    `UsageError` where something was loaded from there before.
    """
    files = (target for target in targets if target.partition(":")[0].endswith(".py") or Path(target).is_file())
    folders = {Path(file.rpartition(":")[0] or file).resolve().parent for file in files}
    for name in (*_NAMES["trusted"], *sys.stdlib_module_names):
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve().parent in folders:
            raise UsageError(
                f"{name} was imported from {file}, which lies beside a candidate. Judge from another folder, "
                "so that what the judge needs is its own."
            )
    with _without(folders):
        for name in _NAMES["packages"]:
            _load(name)
        for name in _NAMES["others"]:
            importlib.import_module(name)


def _load(name: str) -> None:
    """Load a module, and all below it."""
    if name in _NAMES["elsewhere"]:
        return
    module = importlib.import_module(name)
    for below in pkgutil.iter_modules(getattr(module, "__path__", ())):
        _load(f"{name}.{below.name}")


@contextmanager
def _without(folders: Collection[Path]) -> Generator[None]:
    """Look for modules nowhere in some folders."""
    before: Sequence[str] = list(sys.path)
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() not in folders]
    try:
        yield
    finally:
        sys.path[:] = before
