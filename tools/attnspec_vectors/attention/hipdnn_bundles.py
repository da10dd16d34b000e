"""hipDNN's golden bundles: a graph of one node and a raw file for each tensor, for each case that the node expresses.

The form is that of single-graph bundles in hipDNN's RFC 0011, as its bundles of ``SdpaFwd`` have it. Written are
queries, keys and values, a mask of four axes to be added, a scale, and causality in both alignments, in float32,
float16 and bfloat16. The RFC has one tolerance for all elements, and refuses outputs with NaN or infinity.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attnspec.base import __version__
from attnspec.contract.dtypes import numpy_dtype
from attnspec.grading.one_rule import bounded_outputs
from attnspec.offline import why_not_exported
from attnspec.runner import Resolved, inputs_in_c_order, planned_runs
from attnspec.targets import Declaration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attnspec.cases import Suite
    from attnspec.grading import Run

OPERATION = "scaled_dot_product_attention"

_DTYPES = {"float32": ("float", "fp32"), "float16": ("half", "fp16"), "bfloat16": ("bfloat16", "bf16")}
"""Dtype to its name in a graph, and in the path of a bundle."""

_INPUTS = {"query": "Q", "key": "K", "value": "V", "mask": "attn_mask"}
_NODE_INPUTS = (
    *(
        "q",
        "k",
        "v",
        "attn_mask",
        "scale",
        "seq_len_q",
        "seq_len_kv",
        "seed",
        "offset",
        "dropout_mask",
        "dropout_scale",
    ),
    *("page_table_k", "page_table_v", "block_mask", "sink_token", "descale_q", "descale_k", "descale_v", "descale_s"),
    *("scale_s", "scale_o"),
)
_NODE_OUTPUTS = ("o", "stats", "max", "sum_exp", "rng_dump", "amax_s", "amax_o")
"""The tensors that a node may have; those that a bundle does not use are null in it."""

_EXPRESSED = {"scale", "is_causal", "causal_alignment"}


class Bundle(NamedTuple):
    """One bundle: its path below the tier, graph, facts about it, and tensors by uid, the output last."""

    path: str
    graph: Mapping[str, Any]
    about: Mapping[str, Any]
    tensors: tuple[NDArray[Any], ...]


def write_bundles(suite: Suite, folder: Path) -> int:
    """Write the bundles of a suite into a folder, in the tier ``quick``, and return how many there are."""
    count = 0
    for bundle in hipdnn_bundles(suite):
        path = folder / "quick" / bundle.path
        path.mkdir(parents=True)
        for suffix, document in (("json", bundle.graph), ("meta.json", bundle.about)):
            text = json.dumps(document, indent=4, allow_nan=False) + "\n"
            (path / f"{path.name}.{suffix}").write_text(text, encoding="utf-8")
        for uid, array in enumerate(bundle.tensors):
            content = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
            (path / f"{path.name}.tensor{uid}.bin").write_bytes(content)
        count += 1
    return count


def hipdnn_bundles(suite: Suite) -> Iterator[Bundle]:
    """Give a bundle for each case and dtype that a node of attention expresses."""
    declaration = Declaration("", None, "", (OPERATION,), tuple(_DTYPES), {})
    resolved = Resolved(declaration.conventions)
    for case in suite.cases.values():
        if case.operation == OPERATION and {*case.inputs} <= {*_INPUTS} and {*case.attributes} <= _EXPRESSED:
            for run in planned_runs(case, tuple(_DTYPES), declaration, resolved):
                if why_not_exported(run) is None and (bundle := _bundle(run)) is not None:
                    yield bundle


def _bundle(run: Run) -> Bundle | None:
    """Return the bundle of a run; None where the form lacks something of it."""
    given = inputs_in_c_order(run)
    expected, tolerance = bounded_outputs(run)["output"]
    output = expected.astype(numpy_dtype(run.dtype))
    arrays = {name: given[name] for name in _INPUTS if name in given}
    is_plain = all(array.ndim == 4 and array.size and array.dtype == output.dtype for array in arrays.values())
    if not is_plain or not np.isfinite(output.astype(np.float64)).all() or not np.isfinite(tolerance).all():
        return None
    tensors = (*arrays.values(), output)
    names = [*(_INPUTS[name] for name in arrays), "O"]
    in_graph, in_path = _DTYPES[run.dtype]
    name = run.case.id.replace("/", "_")
    uids = {f"{tensor.lower()}_tensor_uid": uid for uid, tensor in enumerate(names)}
    graph = {
        "nodes": [
            {
                "type": "SdpaAttributes",
                "compute_data_type": "float",
                "name": "",
                "inputs": {f"{each}_tensor_uid": uids.get(f"{each}_tensor_uid") for each in _NODE_INPUTS},
                "outputs": {f"{each}_tensor_uid": uids.get(f"{each}_tensor_uid") for each in _NODE_OUTPUTS},
                "attributes": _node_attributes(run),
            }
        ],
        "tensors": [_tensor(uid, names[uid], array, in_graph) for uid, array in enumerate(tensors)],
        "io_data_type": in_graph,
        "compute_data_type": "float",
        "intermediate_data_type": "float",
        "name": f"SdpaFwd_bhsd_{in_path}_{name}",
    }
    rounding = np.abs(output.astype(np.float64) - expected)
    return Bundle(f"SdpaFwd/bhsd/{in_path}/{name}", graph, _about(run, float((tolerance + rounding).max())), tensors)


def _node_attributes(run: Run) -> dict[str, Any]:
    attributes = run.attributes
    scale = attributes.get("scale")
    causal, bottom = bool(attributes.get("is_causal")), attributes.get("causal_alignment") == "bottom_right"
    return {
        "generate_stats": None,
        "alibi_mask": False,
        "padding_mask": False,
        "causal_mask": causal and not bottom,
        "causal_mask_bottom_right": causal and bottom,
        "dropout_probability": None,
        "attn_scale_value": 1 / math.sqrt(run.case.shapes["query"][-1]) if scale is None else scale,
        "left_bound": None,
        "right_bound": None,
        "max_seq_len_kv": None,
        "diagonal_alignment": "BOTTOM_RIGHT" if causal and bottom else "TOP_LEFT",
        "mma_core_mode": "float",
        "implementation": "AUTO",
    }


def _tensor(uid: int, name: str, array: NDArray[Any], dtype: str) -> dict[str, Any]:
    # Strides count elements.
    strides = [int(np.prod(array.shape[axis + 1 :])) for axis in range(array.ndim)]
    dims = list(array.shape)
    return {"uid": uid, "name": name, "dims": dims, "strides": strides, "data_type": dtype, "virtual": False}


def _about(run: Run, tolerance: float) -> dict[str, Any]:
    return {
        "format_version": 1,
        "generator": "attnspec vectors",
        "generator_version": __version__,
        "reference_source": f"attnspec {__version__}, {run.case.id}, revision {run.case.revision}",
        "reference_strategy": "precision_uplift",
        "notes": run.case.title,
        "tolerance": {"absolute": tolerance, "relative": 0.0},
    }
