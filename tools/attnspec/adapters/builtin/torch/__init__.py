"""The built-in adapters `torch`, `torch-math`, `torch-flash` and `torch-flex`: PyTorch, as its users call it."""

from attnspec.adapters.builtin.torch.attention import Torch, TorchFlash, TorchFlex, TorchMath

__all__ = ["Torch", "TorchFlash", "TorchFlex", "TorchMath"]
