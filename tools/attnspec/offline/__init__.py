"""Cases as files, for devices with neither Python nor a pipe: written with expected outputs, graded when answers come.

Reading and writing tensors has a module for each format; the manifest lists the contents of a folder.
"""

from attnspec.offline.exporting import Exported, export, why_not_exported
from attnspec.offline.grading_answers import declaration_of_answers, graded_answers
from attnspec.offline.manifest import MANIFEST, Manifest, read_manifest

__all__ = [
    "MANIFEST",
    "Exported",
    "Manifest",
    "declaration_of_answers",
    "export",
    "graded_answers",
    "read_manifest",
    "why_not_exported",
]
