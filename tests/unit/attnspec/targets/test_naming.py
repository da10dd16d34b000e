"""Operations and names of a function: guessed by the rules of `attnspec init`, and said in one line."""

from types import ModuleType, SimpleNamespace

import pytest

import attnspec
from attnspec.base.errors import UsageError
from attnspec.contract.implementation import Declined, Outputs, Request
from attnspec.targets.loading import load
from attnspec.tensors.libraries import likely_tensors

QUERY = {name: attnspec.case("core/plain").inputs[name] for name in ("query", "key", "value")}


def called(implementation, **attributes):
    (operation,) = implementation.declaration.operations
    return implementation.run(Request(operation, "float64", dict(QUERY), attributes))


def attention(q, k, v, causal=False):
    return v if causal else -v


def in_another_order(values, queries, keys):
    return values


def of_lengths(q_len, kv_len=None):
    return q_len


def without_names(one, two, three):
    return three


def scaled_dot_product_attention(Q, K, V, *, softmax_scale=None):  # noqa: N803
    return V


def nameless(one, two):
    return two


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (attention, "because its arguments are named so; q is query, k is key, v is value, causal is is_causal."),
        (in_another_order, "its arguments are named so; queries is query, keys is key, values is value."),
        (without_names, "it demands enough arguments; one is query, two is key, three is value (query, key, value by"),
        (scaled_dot_product_attention, "its name says so; Q is query, K is key, V is value, softmax_scale is scale."),
    ],
)
def test_what_is_guessed_of_a_function_is_said_in_one_line(function, said):
    declaration = load(function).declaration
    assert declaration.operations == ("scaled_dot_product_attention",)
    assert declaration.guessed.startswith("Guessed: it is scaled_dot_product_attention, because ")
    assert said in declaration.guessed
    assert "\n" not in declaration.guessed


def drafts(parent_ids, q_len, kv_len=None):
    return parent_ids


def packed(q_len, kv_segment_ids=None, q_segment_ids=None):
    return kv_segment_ids


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (drafts, "so; parent_ids is parents, q_len is query_length, kv_len is key_length."),
        (packed, "q_segment_ids is query_documents, kv_segment_ids is key_documents, q_len is query_length."),
    ],
)
def test_a_function_of_masks_is_known_by_a_tensor_that_it_need_not_take(function, said):
    declaration = load(function).declaration
    assert declaration.operations == ("attention_mask",)
    assert said in declaration.guessed


def test_guessed_names_are_called_as_the_function_has_them():
    assert (called(load(in_another_order)).values["output"] == QUERY["value"]).all()
    causal = called(load(attention), is_causal=True)
    assert (causal.values["output"] == QUERY["value"]).all()
    assert isinstance(called(load(attention)), Outputs)
    assert called(load(attention), softcap=1.0) == Declined("it has no argument 'softcap'")


def test_lengths_alone_are_of_any_function():
    with pytest.raises(UsageError, match="cannot be guessed"):
        load(of_lengths)


def test_nothing_is_guessed_where_all_is_said_or_fits():
    def exact(query, key, value, causal=False):
        return value

    implementation = load(exact, bare_operation="scaled_dot_product_attention")
    assert implementation.declaration.guessed is None
    assert called(implementation, is_causal=True) == Declined("it has no argument 'is_causal'")
    renames = {"query": "values", "key": "keys", "value": "queries"}
    said = load(in_another_order, bare_operation="scaled_dot_product_attention", renames=renames)
    assert said.declaration.guessed is None
    assert (called(said).values["output"] == QUERY["query"]).all()


def test_names_that_are_said_help_to_guess_the_rest():
    renamed = load(lambda values, a, b, /: values, renames={"query": "a", "key": "b"})
    assert "values is value" in renamed.declaration.guessed
    assert (called(renamed).values["output"] == QUERY["value"]).all()


def test_methods_and_modules_that_hold_operations_have_their_names_guessed():
    holder = SimpleNamespace(
        scaled_dot_product_attention=lambda Q, K, V: V,  # noqa: N803
        softmax=lambda z, dim=-1: z,
    )
    guessed = load(holder).declaration.guessed
    assert "in softmax, dim is axis, z is x (x by their order alone)" in guessed
    assert "in scaled_dot_product_attention, Q is query, K is key, V is value" in guessed


def a_module(**functions):
    module = ModuleType("mine")
    for name, function in functions.items():
        function.__module__ = "mine"
        setattr(module, name, function)
    return module


def test_in_a_module_the_one_function_that_can_be_an_operation_is_taken():
    def helper(weights):
        return weights

    def attend(q, k, v):
        return v

    guessed = load(a_module(helper=helper, attend=attend)).declaration.guessed
    assert guessed.startswith("Guessed: attend is scaled_dot_product_attention, because its arguments are named so;")
    with pytest.raises(attnspec.AttnspecError, match="holds none of the operations"):
        load(a_module(attend=attend, other=lambda q, k, v: v))


def test_a_factory_is_still_called():
    assert load(lambda: SimpleNamespace(softmax=lambda x: x)).declaration.operations == ("softmax",)
    assert load(lambda device="cpu": SimpleNamespace(softmax=lambda x: x)).declaration.guessed is None


def test_what_cannot_be_guessed_ends_with_what_to_say():
    with pytest.raises(UsageError, match=r"nameless\(one, two\): .* Say it: bare_operation=OPERATION"):
        load(nameless)


@pytest.mark.parametrize(
    ("code", "library"),
    [
        ("def f(q): return torch.softmax(q)", "torch"),
        ("def f(q): return torch.softmax(q / np.sqrt(2))", "torch"),
        ("def f(q): return torch.from_numpy(q)", None),
        ("def f(q): return np.asarray(torch.softmax(torch.tensor(q)))", None),
        ("def f(q): return q", None),
        ("def f(q): return np.exp(q)", None),
    ],
)
def test_the_tensors_of_a_function_are_those_that_its_code_names(code, library):
    scope = {"torch": ModuleType("torch"), "np": ModuleType("numpy")}
    exec(code, scope)
    assert likely_tensors(scope["f"]) == library


def test_a_function_that_demands_more_ends_with_the_command_that_begins_an_adapter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "packed_kernel.py").write_text("def kernel(q, k, v, cu_seqlens_q, cu_seqlens_k): ...", "utf-8")
    with pytest.raises(attnspec.AttnspecError, match=r"demands 'cu_seqlens_q', .*: attnspec init ./packed_kernel.py$"):
        load("./packed_kernel.py")
