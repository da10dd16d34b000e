"""Strangers' implementations: blind batches, put away as archives, and an index of what came of each.

``python -m attnspec_authoring.strangers`` tries every one of them, and says what is not as the index has it.
"""

from attnspec_authoring.strangers.archives import (
    STRANGERS,
    ArchiveError,
    batch_folder,
    batch_names,
    files_in,
    modules_of_its_own,
    put_away,
    unpacked,
)
from attnspec_authoring.strangers.index import (
    INDEX,
    SURVIVED,
    Batch,
    Index,
    Stranger,
    files_digest,
    index_text,
    read_batch,
    read_index,
    with_first_score,
)
from attnspec_authoring.strangers.page import PAGE, strangers_page
from attnspec_authoring.strangers.trials import Trial, try_stranger, try_strangers

__all__ = [
    "INDEX",
    "PAGE",
    "STRANGERS",
    "SURVIVED",
    "ArchiveError",
    "Batch",
    "Index",
    "Stranger",
    "Trial",
    "batch_folder",
    "batch_names",
    "files_digest",
    "files_in",
    "index_text",
    "modules_of_its_own",
    "put_away",
    "read_batch",
    "read_index",
    "strangers_page",
    "try_stranger",
    "try_strangers",
    "unpacked",
    "with_first_score",
]
