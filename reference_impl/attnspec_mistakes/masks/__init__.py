"""What goes wrong in masks: positions, rules, documents, trees, blocks, and around all of them at last."""

from attnspec_mistakes.masks import mask_blocks, mask_documents, mask_positions, mask_rules, mask_trees, masks_beside
from attnspec_mistakes.mistake import Mistake, mistakes_in

__all__ = ["MISTAKES"]

MISTAKES: tuple[Mistake, ...] = mistakes_in(
    mask_positions, mask_rules, mask_documents, mask_trees, mask_blocks, masks_beside
)
