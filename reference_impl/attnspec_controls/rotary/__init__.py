"""The controls of rotary positions: right implementations that compute in another way than the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnspec_controls.rotary import frequencies, rotations

if TYPE_CHECKING:
    from attnspec_controls.control import Control

__all__ = ["CONTROLS"]

CONTROLS: tuple[Control, ...] = (*frequencies.CONTROLS, *rotations.CONTROLS)
