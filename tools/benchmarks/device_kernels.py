"""What the judge says of PyTorch's kernels at real sizes, on a device.

``python tools/benchmarks/device_kernels.py [--device cuda] [--write]`` judges each kernel at each shape in half
precision, and writes ``spec/studies/device-kernels-DEVICE.json`` and a page beside it. A kernel that the device
does not have is not judged, and the page says why. Nothing else depends on a GPU.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from study import STUDIES, Study, command, environment, publish, table

from attnspec import judge
from attnspec.base.errors import AttnspecError

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
KERNELS = {
    "math": "torch-math",
    "flash": "torch-flash",
    "efficient": str(HERE / "runs" / "torch_kernels.py:TorchEfficient"),
    "cudnn": str(HERE / "runs" / "torch_kernels.py:TorchCudnn"),
    "flex": "torch-flex",
}
DTYPES = ("float16", "bfloat16")
SHAPES: dict[str, dict[str, Any]] = {
    "prefill, causal": {
        **{name: [4, 16, 1024, 64] for name in ("query", "key", "value")},
        "is_causal": True,
    },
    "prefill, grouped, causal": {
        "query": [1, 32, 2048, 128],
        "key": [1, 8, 2048, 128],
        "value": [1, 8, 2048, 128],
        "is_causal": True,
    },
    "cross": {"query": [2, 8, 512, 64], "key": [2, 8, 4096, 64], "value": [2, 8, 4096, 64]},
    "decode": {"query": [16, 32, 1, 128], "key": [16, 8, 4096, 128], "value": [16, 8, 4096, 128]},
}
ABOUT = """
What `attnspec judge` says of the kernels of PyTorch's `scaled_dot_product_attention` and of FlexAttention, not
compiled, at sizes of models and in half precision: hidden draws, rows sampled, every other element compared with the
hull of its values. A kernel that declines says why. The judge's reports, with their seeds, are in the file
of data beside this page.
"""


def reports(device: str) -> Iterator[dict[str, Any]]:
    """Judge every kernel at every shape in every dtype, by what is known of PyTorch's."""
    from attnspec_adapters.torch.kernels import CONVENTIONS

    for shape, stated in SHAPES.items():
        for dtype in DTYPES:
            for kernel, target in KERNELS.items():
                entry = {"kernel": kernel, "shape": shape, "dtype": dtype}
                shapes = {"operation": "scaled_dot_product_attention", "dtypes": [dtype], "shapes": [stated]}
                try:
                    found = judge(target, shapes, device=device, conventions=CONVENTIONS).as_json()
                except AttnspecError as error:
                    yield {**entry, "verdict": "not judged", "reason": str(error)}
                    continue
                yield {**entry, **found, "candidate": kernel}


def device_name(device: str) -> str:
    """Say which device it is, and what drives it."""
    import torch

    if not device.startswith("cuda"):
        return f"{device}, PyTorch {torch.__version__}"
    properties = torch.cuda.get_device_properties(device)
    cudnn = torch.backends.cudnn.version()
    return f"{properties.name}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {cudnn}"


def rows(found: list[dict[str, Any]]) -> list[tuple[object, ...]]:
    """Return a row for each report."""
    return [
        (
            each["kernel"],
            each["shape"],
            each["dtype"],
            each["verdict"],
            f"{each['at']['worst']:.2f}" if each.get("at") and each["at"]["worst"] is not None else "",
            f"{each['beside']['worst']:.2f}" if each.get("beside") and each["beside"]["worst"] is not None else "",
            "" if each["verdict"] == "right" else each["reason"].replace("|", "\\|"),
        )
        for each in found
    ]


def main() -> None:
    """Judge, print, and write the page and its data where they are requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--write", action="store_true", help="write the page and its data to spec/studies")
    options = parser.parse_args()
    name = f"device-kernels-{options.device.partition(':')[0]}"
    found = list(reports(options.device))
    heading = ("kernel", "shape", "dtype", "verdict", "worst at the shape", "worst beside it", "why")
    shapes = [(shape, json.dumps(stated)) for shape, stated in SHAPES.items()]
    lines = [f"Device: {device_name(options.device)}.", "", *table(heading, rows(found)), ""]
    lines += table(("shape", "inputs and attributes"), shapes)
    page = Study(f"PyTorch's kernels on {options.device}", ABOUT, lines)
    publish(page, STUDIES / f"{name}.md" if options.write else None)
    if options.write:
        data = {
            "command": command(),
            "environment": environment(),
            "device": device_name(options.device),
            "shapes": SHAPES,
            "reports": found,
        }
        (STUDIES / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
