"""Scatter cache against ONNX: its node tests of TensorScatter, and its evaluator over every case."""

import numpy as np
import pytest

import attnspec_reference
from attnspec.cases import load_suite

onnx = pytest.importorskip("onnx")
NODE_TESTS = ("test_tensorscatter", "test_tensorscatter_circular", "test_tensorscatter_3d")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_node_test_of_tensor_scatter_agrees() -> None:
    from onnx.backend.test.case.node import collect_testcases

    tried = {}
    for test in collect_testcases("TensorScatter"):
        (node,) = test.model.graph.node
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        for inputs, (expected,) in test.data_sets:
            given = dict(zip(("cache", "update", "write_indices"), inputs, strict=False))
            present, history = attnspec_reference.scatter_cache(**given, **attributes)
            np.testing.assert_array_equal(present, expected, err_msg=test.name)
            assert present.dtype == expected.dtype
            assert history is None
            tried[test.name] = True
    assert tried.keys() >= set(NODE_TESTS)


def test_the_evaluator_of_onnx_gives_every_case() -> None:
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    cases = [
        case
        for case in load_suite(profiles=["caches"]).cases.values()
        if case.operation == "scatter_cache" and case.rejects is None and "step_lengths" not in case.inputs
    ]
    assert len(cases) > 20
    for case in cases:
        names = [name for name in ("cache", "update", "write_indices") if name in case.inputs]
        kinds = {"write_indices": TensorProto.INT64}
        graph = helper.make_graph(
            [helper.make_node("TensorScatter", names, ["present"], **case.attributes)],
            "scatter",
            [helper.make_tensor_value_info(name, kinds.get(name, TensorProto.DOUBLE), None) for name in names],
            [helper.make_tensor_value_info("present", TensorProto.DOUBLE, None)],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
        (present,) = ReferenceEvaluator(model).run(None, {name: case.inputs[name] for name in names})
        np.testing.assert_array_equal(present, case.golden("float64")["present"], err_msg=case.id)
