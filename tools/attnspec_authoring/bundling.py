"""Putting golden files into bundles while the wheel is built; `attnspec.cases.reading` says why, and reads them."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The project is not installed where it is built.
_SUFFIX, _SHIPPED = ".cases", "attnspec/_data/golden"


class Bundling(BuildHookInterface[Any]):
    """Makes a bundle of the golden files of each profile, and ships it instead of them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the bundles, and name them among what the wheel includes; an editable one reads the files."""
        if version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp())
        for profile in sorted(path for path in (Path(self.root) / "golden").iterdir() if path.is_dir()):
            files = sorted(profile.rglob("*.json"))
            if not files:  # the folder of stored tolerances, which is no profile
                continue
            bundle = self._folder / f"{profile.name}{_SUFFIX}"
            bundle.write_bytes(b"".join(path.read_bytes() for path in files))
            build_data["force_include"][str(bundle)] = f"{_SHIPPED}/{bundle.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002
        """Take what was written away, and compress the wheel as well as a wheel may be."""
        if version != "editable":
            shutil.rmtree(self._folder)
            _compress(Path(artifact_path))


def _compress(wheel: Path) -> None:
    """Write a wheel again at the highest level, for which hatchling has no option: it saves 120 kB."""
    whole = wheel.with_suffix(".compressed")
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as after:
        for entry in before.infolist():
            after.writestr(entry, before.read(entry), compresslevel=9)
    whole.replace(wheel)
