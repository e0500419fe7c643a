"""Graphs of a device that is the host: work is recorded operation by operation, and done again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class HostGraphs:
    """As CUDA graphs do, it keeps addresses, runs no Python of the work in a replay, leaves what
    was there before as it was, and refuses work that reads an element on the host.
    """

    def __init__(self) -> None:
        self.captures = 0
        self.replays = 0

    def capture(self, work: Callable[[], list[Tensor]]) -> tuple[list[Tensor], Callable[[], None]]:
        recorder = _Recorder()
        try:
            with recorder:
                made = work()
        finally:
            recorder.put_back()
        self.captures += 1

        def replay() -> None:
            self.replays += 1
            recorder.replay()

        return made, replay


class _Recorder(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []
        self.own: dict[int, Tensor] = {}
        self.before: dict[int, tuple[Tensor, Tensor]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._local_scalar_dense.default:
            raise RuntimeError("operation not permitted when stream is capturing")
        written = [
            value
            for argument, value in zip(func._schema.arguments, args, strict=False)
            if argument.alias_info is not None and argument.alias_info.is_write
        ]
        for tensor in tree_leaves([written, kwargs.get("out")]):
            if isinstance(tensor, Tensor) and _memory(tensor) not in self.own:
                self.before.setdefault(_memory(tensor), (tensor, tensor.clone()))
        made = func(*args, **kwargs)
        given = {_memory(t) for t in tree_leaves([args, kwargs]) if isinstance(t, Tensor)}
        fresh = [t for t in tree_leaves(made) if isinstance(t, Tensor) and _memory(t) not in given]
        self.own.update((_memory(tensor), tensor) for tensor in fresh)
        self.calls.append((func, args, kwargs, made if fresh else None))
        return made

    def put_back(self) -> None:
        for tensor, content in self.before.values():
            tensor.copy_(content)

    def replay(self) -> None:
        for func, args, kwargs, made in self.calls:
            again = func(*args, **kwargs)
            if made is not None:
                for old, new in zip(tree_leaves(made), tree_leaves(again), strict=True):
                    if isinstance(old, Tensor) and old.numel():
                        old.copy_(new)


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata
