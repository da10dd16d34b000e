"""The controls of caches: right implementations that write in another way than the reference."""

from attnspec_controls.caches.written_caches import CONTROLS

__all__ = ["CONTROLS"]
