"""Overloads that PyTorch keeps beside one that a declaration names, and that mean the same call.

InfiniOps compares two tensors; PyTorch has a comparison with a number as an operator of its own,
and so on. Such siblings are registered with the overload that operators.json names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from build_support.declarations import Overload


@dataclass(frozen=True)
class Sibling:
    """An overload, and which of its arguments have other names than those of the first."""

    name: str
    renamed: dict[str, str] = field(default_factory=dict)
    absent: tuple[str, ...] = ()  # arguments of the first that it does not have


SIBLINGS = {
    **{
        f"aten::{comparison}.Tensor_out": (Sibling(f"aten::{comparison}.Scalar_out"),)
        for comparison in ("eq", "ne", "lt", "le", "gt", "ge")
    },
    "aten::pow.Tensor_Tensor_out": (
        Sibling("aten::pow.Tensor_Scalar_out"),
        Sibling("aten::pow.Scalar_out"),
    ),
    "aten::clamp.out": (
        Sibling("aten::clamp_min.out", absent=("max",)),
        Sibling("aten::clamp_max.out", absent=("min",)),
    ),
    "aten::maximum.out": (Sibling("aten::clamp_min.Tensor_out", {"other": "min"}),),
    "aten::minimum.out": (Sibling("aten::clamp_max.Tensor_out", {"other": "max"}),),
}


def with_siblings(overloads: Sequence[Overload]) -> Iterator[Overload]:
    """Yields `overloads`, each followed by those of its siblings that are not among them."""
    declared = {overload.name for overload in overloads}
    for overload in overloads:
        yield overload
        for sibling in SIBLINGS.get(overload.name, ()):
            if sibling.name in declared:
                continue
            yield Overload(
                sibling.name,
                {
                    ours: sibling.renamed.get(source, source)
                    for ours, source in overload.sources.items()
                    if source not in sibling.absent
                },
            )
