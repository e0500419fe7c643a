import array
import gc
import os
import subprocess
import sys
import warnings
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

from this_build import (  # type: ignore[import-not-found]  # noqa: E402  # on the path by conftest, after the skip
    needs_device,
    needs_operators,
    operator,
)

import infini.ops  # noqa: E402  # after the setting or skip above

READ_TENSOR = "must be a tensor (DLPack or the buffer protocol), got"


def fake() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        return torch.ones(2)


def quantised() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8)


class Wrapper(torch.Tensor):  # type: ignore[misc]  # torch's class is untyped
    """A subclass whose elements are not where its storage is."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise NotImplementedError(str(function))


class Stubborn(torch.Tensor):  # type: ignore[misc]  # torch's class is untyped
    """A subclass that raises whatever it is asked."""

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return inner.as_subclass(cls)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        raise PermissionError("Stubborn answers no question\nnor gives a reason")


def transformed(tensor: Any) -> Any:
    """What a function sees in the place of `tensor` under `torch.func.vmap`."""
    seen = []
    torch.func.vmap(lambda one: (seen.append(one), one)[1])(tensor[None])
    return seen[0]


def emptied() -> Any:
    """A tensor whose storage was freed from under it."""
    tensor = torch.ones(2)
    tensor.untyped_storage().resize_(0)
    return tensor


LAZY = (
    "is an uninitialised parameter or buffer, which has no data; call its materialize(), or run "
    "its lazy module once"
)
WITHOUT_PLAIN_MEMORY: Any = [
    (lambda: None, f"{READ_TENSOR} NoneType"),
    (lambda: [1.0, 2.0], f"{READ_TENSOR} list"),
    (lambda: 1.0, f"{READ_TENSOR} float"),
    (lambda: "text", f"{READ_TENSOR} str"),
    (lambda: torch.ones(2, device="meta"), "is a meta tensor, which has no data"),
    (lambda: torch.ones(2).to_sparse(), "is a sparse tensor; call to_dense() first"),
    (lambda: torch.ones(2, 2).to_sparse_csr(), "is a sparse tensor; call to_dense() first"),
    (quantised, "is a quantised tensor; call dequantize() first"),
    (
        fake,
        "is a FakeTensor, a torch tensor without plain storage of its own (fake tensors and "
        "wrappers); pass a plain tensor",
    ),
    (
        lambda: Wrapper(torch.ones(2)),
        "is a Wrapper, a torch tensor without plain storage of its own (fake tensors and "
        "wrappers); pass a plain tensor",
    ),
    (
        lambda: torch.ones(2, dtype=torch.complex64).conj(),
        "is a lazily conjugated tensor; call resolve_conj() first",
    ),
    (
        lambda: torch.ones(2, dtype=torch.complex64).conj().imag,
        "is a lazily negated tensor; call resolve_neg() first",
    ),
    (
        lambda: torch._neg_view(torch.ones(2)).detach(),
        "is a lazily negated tensor; call resolve_neg() first",
    ),
    (torch.nn.parameter.UninitializedParameter, LAZY),
    (torch.nn.parameter.UninitializedBuffer, LAZY),
    (
        lambda: Stubborn(torch.ones(2)),
        "cannot be read: PermissionError: Stubborn answers no question",
    ),
    (
        lambda: transformed(torch.ones(2)),
        "is a tensor inside a transformation of torch.func (vmap, grad, jvp), which has no data of "
        "its own; call the operator outside of it",
    ),
    (
        lambda: np.ma.masked_array(np.ones(2, np.float32), [True, False]),
        "is a masked array, whose mask no operator reads; call filled() first",
    ),
    (emptied, "has elements but no data, as fake and meta tensors do; pass a real tensor"),
]
"""What makes an argument that no operator can read, and what is said of it."""


@pytest.mark.parametrize(("make", "message"), WITHOUT_PLAIN_MEMORY)
@pytest.mark.filterwarnings("ignore:Sparse CSR")
def test_what_has_no_plain_memory_is_refused(make: Any, message: Any) -> None:
    for name in ("input", "other"):
        arguments = {"input": torch.ones(2), "other": torch.ones(2), name: make()}
        with pytest.raises(TypeError) as error:
            infini.ops.add(**arguments)
        assert str(error.value) == f"add: `{name}` {message}"
    if make() is not None:
        with pytest.raises(TypeError) as error:
            infini.ops.add(torch.ones(2), torch.ones(2), out=make())
        assert str(error.value) == f"add: `out` {message}"


def test_outputs_that_must_not_be_written_are_refused() -> None:
    a = torch.ones(2)
    with pytest.raises(ValueError) as error:
        infini.ops.add(a, a, out=torch.zeros(2, requires_grad=True))
    assert str(error.value) == (
        "add: `out` requires grad, and no operator records gradients; pass detach() of it"
    )
    frozen = np.zeros(2, np.float32)
    frozen.flags.writeable = False
    for out in (frozen, bytes(8), memoryview(b"12345678").cast("f")):
        with pytest.raises(ValueError, match="`out` is read-only"):
            infini.ops.add(a, a, out=out)
    assert not frozen.any()


def test_inputs_may_be_read_only_or_require_grad() -> None:
    frozen = np.ones(2, np.float32)
    frozen.flags.writeable = False
    assert infini.ops.add(frozen, frozen).tolist() == [2, 2]
    parameter = torch.nn.Parameter(torch.ones(2))
    result = infini.ops.add(parameter, parameter)
    assert result.tolist() == [2, 2]
    assert not result.requires_grad


class Plain(torch.Tensor):  # type: ignore[misc]  # torch's class is untyped
    """A subclass that adds nothing."""


def test_subclasses_with_plain_storage_are_read() -> None:
    tensor = torch.ones(2).as_subclass(Plain)
    assert infini.ops.add(tensor, tensor).tolist() == [2, 2]


@pytest.mark.smoke
def test_results_come_from_the_library_of_the_first_input() -> None:
    t, n = torch.ones(2, 3), np.ones((2, 3), np.float32)
    assert type(infini.ops.add(t, n)) is torch.Tensor
    assert type(infini.ops.add(n, t)) is np.ndarray
    own = infini.ops.empty([2, 3])
    own.copy_from(n)
    result = infini.ops.add(own, n)
    assert type(result) is infini.ops.Tensor
    assert np.array_equal(np.from_dlpack(result), np.full((2, 3), 2, np.float32))
    plain = infini.ops.add(array.array("f", [1, 2]), array.array("f", [3, 4]))
    assert np.from_dlpack(plain).tolist() == [4, 6]


def test_numpy_negative_strides_are_read_and_written() -> None:
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.zeros_like(a)
    infini.ops.add(a[:, ::-1], a[::-1], out=out[::-1, ::-1])
    np.testing.assert_array_equal(out[::-1, ::-1], a[:, ::-1] + a[::-1])


def test_strides_of_one_element_dimensions_do_not_matter() -> None:
    odd = torch.ones(80).as_strided((1, 77), (1, 1))
    assert torch.equal(infini.ops.add(odd, odd), torch.full((1, 77), 2.0))
    out = torch.zeros(78).as_strided((1, 77), (123456789, 1))
    infini.ops.add(odd, odd, out=out)
    assert torch.equal(out, torch.full((1, 77), 2.0))


def test_unaligned_and_fractional_layouts_are_refused() -> None:
    raw = np.zeros(4 * 4 + 1, np.uint8)[1:].view(np.float32)
    assert raw.ctypes.data % 4 != 0
    with pytest.raises(ValueError, match="`input` lies at an address that is no multiple"):
        infini.ops.add(raw, raw)
    field = np.zeros(3, np.dtype([("a", np.float32), ("b", np.uint8)]))["a"]
    with pytest.raises(ValueError, match="`input` has a stride of 5 bytes"):
        infini.ops.add(field, field)


@pytest.mark.parametrize("dtype", ["S4", "datetime64[s]", ">f4", "longdouble"])
def test_elements_without_a_dtype_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="`input` "):
        infini.ops.add(np.zeros(2, dtype), np.zeros(2, dtype))


class Exporter:
    """A tensor of another library, which has `__dlpack__` alone."""

    def __init__(self, tensor: Any, old: Any = False) -> None:
        self.tensor = tensor
        self.old = old

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError("no options")
        return self.tensor.__dlpack__(**({} if self.old else options))


@pytest.mark.parametrize("old", [False, True])
def test_any_dlpack_exporter_is_read_and_released(old: Any) -> None:
    source = torch.arange(6.0).reshape(2, 3).t()
    watched = weakref.ref(source.untyped_storage())
    out = Exporter(torch.zeros(3, 2), old)
    result = infini.ops.add(Exporter(source, old), torch.ones(3, 2), out=out)
    assert result is out
    assert torch.equal(out.tensor, source + 1)
    del source
    gc.collect()
    assert watched() is None


def test_a_failing_exporter_is_named() -> None:
    class Broken:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not today")

    with pytest.raises(TypeError, match=r"`input` cannot be read: .*not today"):
        infini.ops.add(Broken(), torch.ones(2))

    class Talkative:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("not today\nframe #26: _start + 0x21")

    with pytest.raises(TypeError, match=r"`input` cannot be read: BufferError: not today$"):
        infini.ops.add(Talkative(), torch.ones(2))

    class Liar:
        def __dlpack__(self, **options: Any) -> Any:
            return 42

    with pytest.raises(
        TypeError, match="`input` has a `__dlpack__` that returns no DLPack capsule"
    ):
        infini.ops.add(Liar(), torch.ones(2))


def test_own_tensors_outlive_their_object_through_dlpack() -> None:
    own = infini.ops.empty([3])
    own.copy_from(np.array([1, 2, 3], np.float32))
    shared = torch.from_dlpack(own)
    del own
    gc.collect()
    assert shared.tolist() == [1, 2, 3]


@needs_device("sim")
def test_own_tensors_say_what_they_are() -> None:
    own = infini.ops.empty([2, 0], dtype="bfloat16", device="sim:1")
    assert (own.shape, own.dtype, own.device) == ((2, 0), "bfloat16", "sim:1")
    assert repr(own) == "infini.ops.Tensor(bfloat16[2, 0] on sim:1)"
    with pytest.raises(BufferError, match=r"call to_cpu\(\) first"):
        own.__dlpack__()
    with pytest.raises(ValueError):
        infini.ops.empty([-1])
    with pytest.raises(TypeError, match="float17"):
        infini.ops.empty([1], dtype="float17")
    for shape in (3, [2.0], "23"):
        with pytest.raises(TypeError, match=r"`shape` must be a sequence of whole numbers"):
            infini.ops.empty(shape)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(ValueError, match=r"`source` is float32\[2\] on cpu:0; expected"):
        infini.ops.empty([3]).copy_from(np.zeros(2, np.float32))


ADD: Any = operator("add")  # calls that the stub refuses


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: ADD(t), "`other` is missing"),
        (
            lambda t: ADD(t, t, t),
            "takes at most 2 positional arguments, got 3; give the others by name",
        ),
        (lambda t: ADD(t, other=t, input=t), "`input` is given twice"),
        (
            lambda t: ADD(t, t, beta=1),
            "has no argument `beta`; it takes input, other, alpha, out, stream, implementation, "
            "config",
        ),
        (lambda t: ADD(t, t, alpha="x"), "`alpha` must be a number, got str"),
        (
            lambda t: ADD(t, t, implementation=1.5),
            "`implementation` must be a slot number or a name, got float",
        ),
        (
            lambda t: ADD(t, t, stream="x"),
            "`stream` must be an InfiniRT stream or its number, got str",
        ),
    ],
)
def test_calls_that_do_not_fit_are_explained(call: Any, message: Any) -> None:
    with pytest.raises(TypeError) as error:
        call(torch.ones(2))
    assert str(error.value) == f"add: {message}"


def test_config_is_for_triton() -> None:
    with pytest.raises(NotImplementedError, match="`config` is for Triton implementations"):
        infini.ops.add(torch.ones(2), torch.ones(2), config={"BLOCK": 64})


@pytest.mark.parametrize("alpha", [2, True, 2.0, np.float64(2), np.float32(2), np.int64(2), 2**70])
def test_numbers_of_every_kind_are_read(alpha: Any) -> None:
    a = torch.ones(2)
    if alpha == 2**70:
        with pytest.raises(ValueError, match="`alpha` is an integer of more than 64 bits"):
            infini.ops.add(a, a, alpha=alpha)
    else:
        assert infini.ops.add(a, a, alpha=alpha).tolist() == [1 + float(alpha)] * 2


@needs_device("sim")
@pytest.mark.parametrize(
    ("fault", "code", "printed"),
    [
        # A forked child cannot use the device, and drops what the parent owns.
        (
            "",
            "pid = os.fork()\nif pid == 0:\n    del a\n    sys.exit(0)\n"
            "status = os.waitpid(pid, 0)[1]\ndel a\nsys.exit(status)",
            "",
        ),
        (
            "",
            "pid = os.fork()\nif pid == 0:\n    sys.exit(0)\n"
            "status = os.waitpid(pid, 0)[1]\nsys.exit(status)",
            "",
        ),
        ("free:1", "del a", "infini.ops: a tensor on sim:0 was not freed: Free"),
    ],
    ids=["fork", "fork-exit", "failure"],
)
def test_a_tensor_that_cannot_be_freed_ends_no_process(fault: str, code: str, printed: str) -> None:
    start = "import os, sys, infini.ops\na = infini.ops.empty([4], device='sim')\n"
    done = subprocess.run(
        [sys.executable, "-c", start + code],
        env={**os.environ, "INFINI_RT_SIM_DEVICES": "1", "INFINI_RT_SIM_FAULT": fault},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(printed)
    assert bool(done.stderr) == bool(printed)


@needs_operators("linear")
def test_a_crash_would_show() -> None:
    """Every refusal again in one child process, whose exit status tells of a crash."""
    code = (
        "import runpy, sys, torch, infini.ops\n"
        "for make, _ in runpy.run_path(sys.argv[1])['WITHOUT_PLAIN_MEMORY']:\n"
        "    try: infini.ops.linear(torch.ones(2, 2), make())\n"
        "    except TypeError as error: print(error)\n"
    )
    support = str(Path(__file__).with_name("support"))
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, __file__],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([support, *sys.path])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.splitlines() == [
        f"linear: `weight` {message}" for _, message in WITHOUT_PLAIN_MEMORY
    ]
