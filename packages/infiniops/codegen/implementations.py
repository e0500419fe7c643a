"""Finds the implementations: headers under `src/` -> slots per operator and device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .declaration import Operator
from .document import DeclarationError

GREATEST_SLOT = 31
LEAST_LINKED_SLOT = 16
TORCH_SLOT = 8

BASELINE_SETS = ("baseline", "avx2", "avx512", "neon")
"""Instruction sets for which every CPU kernel is compiled (those of the target machine)."""
BF16_SETS = ("avx512_bf16",)
"""Further sets for kernels that gain by instructions for bfloat16."""

_SPECIALIZATION = re.compile(
    r"struct\s+Operator\s*<\s*(\w+)\s*,\s*(?:rt::)?Device::Type::k(\w+)\s*,\s*(-?\d+)\s*>"
)
_NAME = re.compile(r"kName(?:\[\])?\s*=\s*\"([^\"]*)\"")
_KERNEL = re.compile(r"INFINI_OPS_CPU_(BF16_)?KERNEL\(\s*(\w+)\s*\)")
_SHARED = re.compile(r"#include \"(native/\w+/shared/\w+\.h)\"")


@dataclass(frozen=True)
class Header:
    """An implementation header that an `ops.json` names."""

    path: Path
    backend: str


@dataclass(frozen=True)
class SharedKernel:
    """A kernel that several operators run: `native/<device>/shared/<name>.h`, and the `.cc` beside
    it, which makes its tasks.
    """

    include: str
    source: str
    kernel_sets: tuple[str, ...]

    @property
    def stem(self) -> str:
        """The header's name without suffix, which names its generated sources."""
        return Path(self.include).stem


@dataclass(frozen=True)
class Implementation:
    """One specialization of `Operator`."""

    operator: str
    device: str
    slot: int
    name: str
    header: Path
    include: str
    backend: str
    kernel_sets: tuple[str, ...]
    shared: tuple[SharedKernel, ...] = ()

    @property
    def stem(self) -> str:
        """What names the generated sources of the header."""
        standard = self.include.startswith("native/")
        return self.header.stem if standard else f"{self.operator}-{self.header.stem}"


def find_implementations(
    source: Path,
    operators: Iterable[Operator],
    devices: Sequence[str],
    headers: Mapping[str, Sequence[Header]] | None = None,
    linked: bool = False,
) -> tuple[Implementation, ...]:
    """The implementations of `operators` for `devices`, checked for unique slots.

    `headers` names those of some operators; of the others, those below `source` are found: the
    native ones, and the `linked` ones where asked for.
    """
    found: list[Implementation] = []
    named = headers or {}
    for operator in operators:
        for header in named.get(operator.name, ()):
            found += scan_header(header.path, source, operator, devices, header.backend)
        if operator.name in named:
            continue
        for device in sorted(devices):
            folder = source / "native" / device / "ops"
            pattern = re.compile(rf"{operator.name}(_\w+)?")
            own = folder / operator.name
            for path in sorted(own.glob("*.h")) if own.is_dir() else []:
                if not pattern.fullmatch(path.stem):
                    raise DeclarationError(
                        f"{path}:1: the name must be {operator.name}.h or "
                        f"{operator.name}_<implementation>.h"
                    )
                found.extend(scan_header(path, source, operator, [device]))
            for path in _linked_headers(source, operator, device) if linked else ():
                found.extend(scan_header(path, source, operator, [device], "linked"))
    check_slots(found)
    return tuple(found)


def _linked_headers(source: Path, operator: Operator, device: str) -> list[Path]:
    """The headers of linked implementations, each with its contract and its source beside it."""
    headers = sorted((source / "linked").glob(f"*/{device}/ops/{operator.name}/*.h"))
    for header in headers:
        sources = [header.with_suffix(suffix).is_file() for suffix in (".cc", ".cu")]
        if not header.with_suffix(".yaml").is_file() or sum(sources) != 1:
            raise DeclarationError(
                f"{header}:1: expected {header.stem}.yaml and one of {header.stem}.cc and "
                f"{header.stem}.cu beside it"
            )
    return headers


def scan_header(
    header: Path,
    source: Path,
    operator: Operator,
    devices: Sequence[str],
    backend: str = "native",
) -> tuple[Implementation, ...]:
    """The specializations in `header`, each for one of `devices`."""
    text = header.read_text(encoding="utf-8")
    matches = list(_SPECIALIZATION.finditer(text))
    if not matches:
        raise DeclarationError(
            f"{header}:1: no `struct Operator<{operator.class_name}, Device::Type::k..., SLOT>`"
        )
    sets = _kernel_sets(text)
    shared = tuple(_shared_kernel(source, match[1]) for match in _SHARED.finditer(text))
    result: list[Implementation] = []
    for position, match in enumerate(matches):
        line = text.count("\n", 0, match.start()) + 1
        end = matches[position + 1].start() if position + 1 < len(matches) else len(text)
        name = _NAME.search(text, match.start(), end)
        if match[1] != operator.class_name:
            raise DeclarationError(
                f"{header}:{line}: expected an Operator<{operator.class_name}, ...>, got {match[1]}"
            )
        device = match[2].lower()
        if device not in devices:
            expected = " or ".join(f"Device::Type::k{one.capitalize()}" for one in devices)
            raise DeclarationError(f"{header}:{line}: expected {expected}, got k{match[2]}")
        if name is None or not re.fullmatch(r"[a-z][a-z0-9_]*", name[1]):
            raise DeclarationError(
                f'{header}:{line}: give the implementation a name: `kName[] = "native"`, in lower '
                "case"
            )
        slot = int(match[3])
        least = LEAST_LINKED_SLOT if backend == "linked" else 0
        if not least <= slot <= GREATEST_SLOT:
            raise DeclarationError(
                f"{header}:{line}: slot {slot} is not in {least}..{GREATEST_SLOT} "
                f"(back end {backend})"
            )
        result.append(
            Implementation(
                operator=operator.name,
                device=device,
                slot=slot,
                name=name[1],
                header=header,
                include=_include(header, source),
                backend=backend,
                kernel_sets=sets,
                shared=shared,
            )
        )
    return tuple(result)


def _include(header: Path, source: Path) -> str:
    """How a source includes `header`: from `src/`, or from the package; else by its place."""
    for folder, prefix in ((source, ""), (source.parent, "../")):
        if header.is_relative_to(folder):
            return prefix + header.relative_to(folder).as_posix()
    return header.as_posix()


def _kernel_sets(text: str) -> tuple[str, ...]:
    """The instruction sets for which the kernels that `text` declares are compiled."""
    kernels = list(_KERNEL.finditer(text))
    sets: tuple[str, ...] = BASELINE_SETS if kernels else ()
    return sets + BF16_SETS if any(kernel[1] for kernel in kernels) else sets


def _shared_kernel(source: Path, include: str) -> SharedKernel:
    header = source / include
    sets = _kernel_sets(header.read_text(encoding="utf-8")) if header.is_file() else ()
    if not sets or not header.with_suffix(".cc").is_file():
        raise DeclarationError(
            f"{header}:1: expected a header with INFINI_OPS_CPU_KERNEL(...), and a .cc beside it"
        )
    return SharedKernel(include, Path(include).with_suffix(".cc").as_posix(), sets)


def check_slots(implementations: Iterable[Implementation]) -> None:
    """Refuse two implementations of one operator and device with the same slot or name."""
    taken: dict[tuple[str, str, str], Implementation] = {}
    for item in implementations:
        for what in (f"slot {item.slot}", f"name `{item.name}`"):
            first = taken.setdefault((item.operator, item.device, what), item)
            if first is not item:
                raise DeclarationError(
                    f"{item.header}:1: {what} of {item.operator} on {item.device} is taken by "
                    f"{first.header}"
                )
