"""The step kinds that are not one PyTorch call; generated source and the interpreter share them.

`docs/linnet/graph-format.md` says what each kind computes.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_SIGN = -(2**63)

_unchecked: ContextVar[bool] = ContextVar("_unchecked", default=False)


@contextmanager
def unchecked_positions() -> Iterator[None]:
    """Inside, no position or divisor is read to check it: work that a device only records has none.
    Whoever runs the work checks them.
    """
    token = _unchecked.set(True)
    try:
        yield
    finally:
        _unchecked.reset(token)


def element(source: Tensor, axes: Sequence[int], *positions: Tensor) -> Tensor:
    """`source` at integer `positions` along `axes`; the axes that the positions make come first.

    Raises IndexError, before anything is read, for a position below 0 or past its axis.
    """
    indices = []
    for axis, position in zip(axes, positions, strict=True):
        index = position.to(torch.int64)
        size = source.shape[axis]
        if index.numel() and not _unchecked.get():
            least, greatest = (int(n) for n in torch.aminmax(index))
            if least < 0 or greatest >= size:
                wrong = least if least < 0 else greatest
                raise IndexError(f"position {wrong} is outside axis {axis} of size {size}")
        indices.append(index)
    others = [axis for axis in range(source.dim()) if axis not in axes]
    moved = source if not axes else source.permute(*axes, *others)
    return moved[tuple(indices)] if indices else moved


def check_positions(what: str, positions: Tensor, greatest: int) -> None:
    """IndexError for a position of a cache write below 0 or past `greatest`."""
    if positions.numel() and not _unchecked.get():
        least, most = (int(n) for n in torch.aminmax(positions.to(torch.int64)))
        if least < 0 or most > greatest:
            wrong = least if least < 0 else most
            raise IndexError(
                f"{what}: position {wrong} is outside the cache, which can be written at 0 to "
                f"{greatest}"
            )


def write_rows_(cache: Tensor, positions: Tensor, v: Tensor) -> Tensor:
    """Writes v[b] of shape [H, 1, D] to position `positions[b]` of row b of `cache`, in place."""
    rows = torch.arange(cache.shape[0], device=cache.device)
    cache[rows, :, positions] = v[:, :, 0]
    return cache


def write_span_(cache: Tensor, at: Tensor, v: Tensor) -> Tensor:
    """Writes v [B, H, N, D] to the positions from `at` on of every row of `cache`, in place."""
    count = v.shape[2]
    if cache.device.type == "cpu" and not (_unchecked.get() or torch.compiler.is_compiling()):
        cache.narrow(2, int(at), count).copy_(v)
        return cache
    return cache.index_copy_(2, at + torch.arange(count, device=cache.device), v)


def rope(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotates the halves of the last axis of `x` [B, H, S, D] by tables [S, D] or [B, S, D],
    rounding narrow dtypes once.
    """
    if cosine.dim() == 3:
        cosine, sine = cosine[:, None], sine[:, None]
    first, second = x.chunk(2, dim=-1)
    return torch.addcmul(x * cosine, torch.cat((-second, first), dim=-1), sine)


def row_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`functional.linear` of one row [..., In] and a weight [Out, In] in f32 or bf16; it reads the
    weight once, at the speed of memory, where PyTorch's choice on the CPU does not.

    f32: a BLAS takes one thread for a matrix and a vector, but as many as it has for a batch. So
    the rows of the weight are cut into a batch of as many parts as there are threads.

    bf16: oneDNN lays the weight out anew in each call. PyTorch's own product takes half the time,
    and adds in f32 as well; it is asked for by `torch.backends.mkldnn.enabled`, which is of the
    whole process, and so only where no other Python thread could see it.
    """
    if torch.compiler.is_compiling() or weight.device.type != "cpu":
        return functional.linear(x, weight, bias)
    if weight.dtype == torch.bfloat16:
        return _without_onednn(x, weight, bias)
    (rows, width), parts = weight.shape, torch.get_num_threads()
    if bias is not None or parts == 1 or rows % parts or not weight.is_contiguous():
        return functional.linear(x, weight, bias)
    batch = weight.view(parts, rows // parts, width).transpose(1, 2)
    return torch.bmm(x.reshape(1, 1, -1).expand(parts, 1, -1), batch).reshape(*x.shape[:-1], rows)


def _without_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    switch: Any = torch.backends.mkldnn  # whose types are not those of its values
    if threading.active_count() > 1 or not switch.enabled:
        return functional.linear(x, weight, bias)
    try:
        switch.enabled = False
        return functional.linear(x, weight, bias)
    finally:
        switch.enabled = True


def masked_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    *,
    scale: float,
    enable_gqa: bool = False,
) -> Tensor:
    """`scaled_dot_product_attention` where `mask` [Q, K] or [B, Q, K] is true.

    On the CPU the keys past the last one that any query sees are left out, so that attention to a
    cache takes the time of what it holds and not of what it has room for, and with them the mask,
    where every query sees all others, as the one query of a decode step does.
    """
    keys, masked = _keys_seen(mask)
    bias = mask.unsqueeze(1) if mask.dim() == 3 else mask
    if keys < mask.shape[-1]:
        key, value, bias = key[:, :, :keys], value[:, :, :keys], bias[..., :keys]
    return functional.scaled_dot_product_attention(
        query,
        key,
        value,
        attn_mask=bias if masked else None,
        scale=scale,
        enable_gqa=enable_gqa,
    )


def _keys_seen(mask: Tensor) -> tuple[int, bool]:
    """How many keys there are up to the last that a query sees, 1 or more, and whether a query does
    not see one of them; all keys, and that, where it cannot be read. All layers of a decoder have
    one mask, so what was found is kept with it.
    """
    count = mask.shape[-1]
    if mask.device.type != "cpu" or _unchecked.get() or torch.compiler.is_compiling():
        return count, True
    counted = not mask.is_inference()  # where PyTorch counts writes
    version, known = getattr(mask, "_linnet_keys_seen", (None, (count, True)))
    if counted and version == mask._version:
        return int(known[0]), bool(known[1])
    seen = mask.flatten(0, -2).any(0).nonzero()
    keys = int(seen[-1]) + 1 if seen.numel() else min(1, count)
    found = keys, not bool(mask[..., :keys].all())
    if counted:
        setattr(mask, "_linnet_keys_seen", (mask._version, found))  # noqa: B010  # no field of it
    return found


def with_gradient(
    forward: Callable[[], Tensor],
    backward: Callable[..., Sequence[Tensor]],
    *operands: Tensor,
) -> Tensor:
    """The result of `forward`, a function of `operands`, whose gradients `backward` gives.

    `backward(*operands, result, gradient)` returns one gradient for each operand that is a
    floating tensor with axes; numbers and scalars have none.
    """
    result: Tensor = _Replaced.apply(  # type: ignore[no-untyped-call]  # PyTorch gives no types
        forward, backward, *operands
    )
    return result


class _Replaced(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        forward: Callable[[], Tensor],
        backward: Callable[..., Sequence[Tensor]],
        *operands: Tensor,
    ) -> Tensor:
        result = forward()
        if any(result is operand for operand in operands):
            result = result.clone()
        ctx.gradients = backward
        ctx.save_for_backward(*operands, result)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *operands, result = ctx.saved_tensors
        found = iter(ctx.gradients(*operands, result, gradient))
        gradients = [next(found) if o.is_floating_point() and o.dim() else None for o in operands]
        return (None, None, *gradients)


def divide(a: Tensor, b: Tensor) -> Tensor:
    """Integer division toward zero, wrapping for the least integer by -1, where PyTorch ends the
    process. ZeroDivisionError if an element of `b` is 0.
    """
    if a.dtype == torch.uint8:
        return torch.div(a, _divisor(b), rounding_mode="trunc")
    negative = b == -1
    safe = torch.where(negative, torch.ones_like(b), _divisor(b))
    return torch.where(negative, -a, torch.div(a, safe, rounding_mode="trunc"))


def remainder(a: Tensor, b: Tensor) -> Tensor:
    """What `divide` leaves; it has the sign of `a`. ZeroDivisionError as there."""
    if a.dtype == torch.uint8:
        return torch.fmod(a, _divisor(b))
    negative = b == -1
    safe = torch.where(negative, torch.ones_like(b), _divisor(b))
    return torch.where(negative, torch.zeros_like(a), torch.fmod(a, safe))


def _divisor(b: Tensor) -> Tensor:
    # Compiled code would not ask, and end the process.
    if not _unchecked.get() and bool((b == 0).any()):
        raise ZeroDivisionError("integer division by zero")
    return b


def product(source: Tensor, axes: Sequence[int]) -> Tensor:
    """The product over `axes`, in the dtype of `source`."""
    others = [axis for axis in range(source.dim()) if axis not in axes]
    moved = source.permute(*others, *axes)
    flat = moved.reshape(*(source.shape[axis] for axis in others), -1)
    if flat.numel() == 0:
        return torch.ones(flat.shape[:-1], dtype=source.dtype, device=source.device)
    return flat.prod(dim=-1, dtype=source.dtype)


def extreme(dtype: torch.dtype, least: bool) -> float | int | bool:
    """The least or greatest value of `dtype`: what `max` and `min` give over no elements."""
    if dtype == torch.bool:
        return not least
    if dtype.is_floating_point:
        return -math.inf if least else math.inf
    info = torch.iinfo(dtype)
    return int(info.min if least else info.max)


def unsigned(kind: str, *operands: Tensor) -> Tensor:
    """An arithmetic step kind on u16, u32 or u64 tensors, which PyTorch stores but does not add."""
    dtype = operands[0].dtype
    if dtype == torch.uint64:
        return _unsigned_64(kind, *(operand.view(torch.int64) for operand in operands))
    wide = [operand.to(torch.int64) for operand in operands]
    result = SIGNED[kind](*wide)
    return result if result.dtype == torch.bool else result.to(dtype)


def signed_bits(source: Tensor) -> Tensor:
    """An unsigned tensor as i64: the same value for u16 and u32, the same bits for u64."""
    return source.view(torch.int64) if source.dtype == torch.uint64 else source.to(torch.int64)


def unsigned_reduce(kind: str, source: Tensor, axes: Sequence[int]) -> Tensor:
    """`sum prod max min` over `axes` of a u16, u32 or u64 tensor."""
    dtype = source.dtype
    order = dtype == torch.uint64 and kind in ("max", "min")
    wide = signed_bits(source)
    wide = wide ^ _SIGN if order else wide
    if kind == "sum":
        result = wide.sum(dim=list(axes)) if axes else wide
    elif kind == "prod":
        result = product(wide, axes)
    else:
        result = (wide.amax if kind == "max" else wide.amin)(dim=list(axes))
    return (result ^ _SIGN if order else result).to(dtype)


def unsigned_cumsum(source: Tensor, axis: int) -> Tensor:
    """Running sums of a u16, u32 or u64 tensor."""
    return signed_bits(source).cumsum(dim=axis).to(source.dtype)


def _unsigned_64(kind: str, *operands: Tensor) -> Tensor:
    """The same on the bits of 64-bit operands, kept in signed tensors."""
    if kind in ("eq", "ne", "add", "sub", "mul", "neg", "abs", "shl"):
        result = operands[0] if kind == "abs" else SIGNED[kind](*operands)
    elif kind in ("lt", "le", "gt", "ge"):
        result = SIGNED[kind](*(operand ^ _SIGN for operand in operands))
    elif kind in ("min", "max"):
        result = SIGNED[kind](*(operand ^ _SIGN for operand in operands)) ^ _SIGN
    elif kind == "shr":
        result = _logical_shift(*operands)
    else:
        quotient = _divide_64(*operands)
        result = quotient if kind == "div" else operands[0] - quotient * operands[1]
    return result if result.dtype == torch.bool else result.view(torch.uint64)


def _logical_shift(bits: Tensor, count: Tensor) -> Tensor:
    once = (bits >> 1) & ~_SIGN
    return torch.where(count == 0, bits, once >> (count - 1).clamp(min=0))


def _divide_64(a: Tensor, b: Tensor) -> Tensor:
    """Unsigned division of bits: divide the upper 63 bits, then correct by one."""
    if bool((b == 0).any()):
        raise ZeroDivisionError("u64 division by zero")
    positive = torch.where(b < 0, torch.ones_like(b), b)
    half = torch.div((a >> 1) & ~_SIGN, positive, rounding_mode="trunc") << 1
    rest = a - half * positive
    small = half + ((rest ^ _SIGN) >= (positive ^ _SIGN)).to(torch.int64)
    return torch.where(b < 0, ((a ^ _SIGN) >= (b ^ _SIGN)).to(torch.int64), small)


#: PyTorch's function for each kind of step and comparison, on signed integers.
SIGNED: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": divide,
    "rem": remainder,
    "min": torch.minimum,
    "max": torch.maximum,
    "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
    "neg": torch.neg,
    "abs": torch.abs,
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
}
