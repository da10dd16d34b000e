"""Writing releases: changes since the last one, for the changelog, and promises of the next one."""

from attnspec_authoring.releases.changelog import fixtures_section, write_section
from attnspec_authoring.releases.changes import Changes, changes_of, next_release, released_text

__all__ = ["Changes", "changes_of", "fixtures_section", "next_release", "released_text", "write_section"]
