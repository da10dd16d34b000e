"""Modules of the judge, loaded before a candidate is started: the disk afterwards may be its work."""

import importlib
import pkgutil
import sys
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attnspec.base.errors import UsageError

_PACKAGES = (
    "attnspec.base",
    "attnspec.bounds",
    "attnspec.cases",
    "attnspec.contract",
    "attnspec.diagnosis",
    "attnspec.families",
    "attnspec.grading",
    "attnspec.process",
    "attnspec.reports",
    "attnspec.runner",
    "attnspec.specification",
    "attnspec.targets",
    "attnspec.validation",
    "attnspec_draws",
    "attnspec_mistakes",
    "attnspec_probes",
    "attnspec_reference",
)
"""Packages of which some modules are loaded late, for a command that needs none of them starts sooner."""

_OTHERS = (
    "encodings.idna",
    "importlib.metadata",
    "jsonschema",
    "ml_dtypes",
    "numpy.ma",
    "numpy.random",
    "rich.padding",
    "rich.table",
    "rich.text",
    "unicodedata",
)
"""Modules that NumPy and the standard library load late, and those that these packages import where needed."""

_ELSEWHERE = ("attnspec.tensors", "attnspec_draws.campaign", "attnspec_draws.commands")
"""Modules that need other libraries and run in the candidate's process alone, and those of a campaign."""

_TRUSTED = (
    "attnspec",
    "attnspec_adapters",
    "attnspec_draws",
    "attnspec_mistakes",
    "attnspec_probes",
    "attnspec_reference",
    "ml_dtypes",
    "numpy",
    *sys.stdlib_module_names,
)
"""Modules that a verdict rests on: none may come from where a candidate lies."""


def load_own_modules(targets: Collection[str]) -> None:
    """Load all modules that the judge may need, none from the folders of targets that are files.

    `UsageError` where something was loaded from there before.
    """
    files = (target for target in targets if target.partition(":")[0].endswith(".py") or Path(target).is_file())
    folders = {Path(file.rpartition(":")[0] or file).resolve().parent for file in files}
    for name in _TRUSTED:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if file is not None and Path(file).resolve().parent in folders:
            raise UsageError(
                f"{name} was imported from {file}, which lies beside a candidate. Judge from another folder, "
                "so that what the judge needs is its own."
            )
    with _without(folders):
        for name in _PACKAGES:
            _load(name)
        for name in _OTHERS:
            importlib.import_module(name)


def _load(name: str) -> None:
    """Load a module, and all below it."""
    if name in _ELSEWHERE:
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
