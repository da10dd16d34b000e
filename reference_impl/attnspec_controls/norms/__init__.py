"""The controls of norms: right implementations that compute in another way than the reference."""

from attnspec_controls.norms.normalized_features import CONTROLS

__all__ = ["CONTROLS"]
