"""The built-in adapters whose names begin with `torch`: PyTorch, as its users call it."""

from attnspec_adapters.torch.attention import (
    Torch,
    TorchFlash,
    TorchFlex,
    TorchMath,
    TorchMultihead,
    TorchMultiheadFast,
)

__all__ = ["Torch", "TorchFlash", "TorchFlex", "TorchMath", "TorchMultihead", "TorchMultiheadFast"]
