"""hipDNN's golden bundles: read as their RFC says, from graph and raw bytes, they are cases of attention."""

import json
import math

import ml_dtypes
import numpy as np
import pytest

import attnspec
import attnspec_reference
from attnspec.cases import load_suite
from attnspec.command_line import main

DTYPES = {"float": np.dtype("<f4"), "half": np.dtype("<f2"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
OF_GRAPH = {"float": "float32", "half": "float16", "bfloat16": "bfloat16"}


@pytest.fixture
def bundles(tmp_path):
    folder = tmp_path / "bundles"
    words = ["--form", "hipdnn", "--profile", "core", "--profile", "causal", "--profile", "masking"]
    assert main(["vectors", str(folder), *words]) == 0
    return sorted(folder.glob("quick/SdpaFwd/bhsd/*/*"))


def read(folder):
    """Graph, tensors by uid and facts of a bundle; each file has as many bytes as dims, strides and data type say."""
    graph = json.loads((folder / f"{folder.name}.json").read_text("utf-8"))
    about = json.loads((folder / f"{folder.name}.meta.json").read_text("utf-8"))
    tensors = {}
    for tensor in graph["tensors"]:
        content = (folder / f"{folder.name}.tensor{tensor['uid']}.bin").read_bytes()
        dtype = DTYPES[tensor["data_type"]]
        space = 1 + sum((length - 1) * stride for length, stride in zip(tensor["dims"], tensor["strides"], strict=True))
        assert len(content) == space * dtype.itemsize
        strides = [stride * dtype.itemsize for stride in tensor["strides"]]
        tensors[tensor["uid"]] = np.ndarray(tensor["dims"], dtype, content, strides=strides).astype(np.float64)
    assert len([*folder.iterdir()]) == len(tensors) + 2
    return graph, tensors, about


def test_each_bundle_is_what_the_reference_computes_from_it(bundles):
    assert len(bundles) > 300
    assert {folder.parent.name for folder in bundles} == {"fp32", "fp16", "bf16"}
    for folder in bundles:
        graph, tensors, about = read(folder)
        (node,) = graph["nodes"]
        uids = {name: uid for name, uid in {**node["inputs"], **node["outputs"]}.items() if uid is not None}
        assert sorted(uids.values()) == sorted(tensors)
        given = node["attributes"]
        mask = tensors.get(uids.get("attn_mask_tensor_uid"))
        bottom = given["causal_mask_bottom_right"]
        got = attnspec_reference.scaled_dot_product_attention(
            *(tensors[uids[f"{name}_tensor_uid"]] for name in "qkv"),
            mask=mask,
            scale=given["attn_scale_value"],
            is_causal=bottom or given["causal_mask"],
            causal_alignment="bottom_right" if bottom else "top_left",
        )
        assert (given["diagonal_alignment"] == "BOTTOM_RIGHT") == bottom
        assert about["tolerance"]["relative"] == 0
        assert np.isfinite(tensors[uids["o_tensor_uid"]]).all()
        assert np.abs(got[0] - tensors[uids["o_tensor_uid"]]).max() <= about["tolerance"]["absolute"]


def test_the_facts_name_the_case_and_the_fields_that_the_rfc_demands(bundles):
    for folder in bundles:
        graph, _, about = read(folder)
        assert about["format_version"] == 1
        assert all(about[name] for name in ("generator", "reference_source", "reference_strategy"))
        case, dtype = about["reference_source"].split(", ")[1], OF_GRAPH[graph["io_data_type"]]
        assert folder.name == case.replace("/", "_")
        known = attnspec.case(case, dtype).tolerance["output"].max()
        assert known <= about["tolerance"]["absolute"] < math.inf


def test_what_the_form_lacks_is_left_out(bundles):
    names = {folder.name for folder in bundles}
    cases = load_suite(profiles=["core", "causal", "masking"]).cases.values()
    boolean = {case.id for case in cases if "mask" in case.inputs and case.inputs["mask"].dtype == bool}
    assert boolean
    assert not names & {case.replace("/", "_") for case in boolean}
