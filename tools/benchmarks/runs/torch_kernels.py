"""The kernels of PyTorch that only GPUs have, as targets: ``torch_kernels.py:TorchEfficient`` and ``:TorchCudnn``.

They are not built in, because nobody could validate them where there is no GPU: there, they decline every case.
"""

from attnspec_adapters.torch.kernels import TorchKernel


class TorchEfficient(TorchKernel):
    """The kernel ``EFFICIENT_ATTENTION``, which came from xFormers."""

    name = "torch, efficient kernel"
    dtypes = ("float32", "float16", "bfloat16")
    kernel = "EFFICIENT_ATTENTION"


class TorchCudnn(TorchKernel):
    """The kernel ``CUDNN_ATTENTION``, which NVIDIA's library brings."""

    name = "torch, cuDNN kernel"
    dtypes = ("float16", "bfloat16")
    kernel = "CUDNN_ATTENTION"
