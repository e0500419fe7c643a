"""Header of an implementation -> its slot.

The preprocessor is not run: the specialization has to be in the text, with its slot as a number.
Comments, texts and preprocessor lines do not count.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .diagnostics import ContractError, Problem
from .document import read_text
from .files import open_file

LEAST_SLOT = 16
GREATEST_SLOT = 31
_GREATEST_SIZE = 1024 * 1024

# Raw strings first, since quotes and comment signs mean nothing in them.
_NO_CODE = re.compile(
    r'R"(?P<mark>[^()\\\s"]{0,16})\(.*?(?:\)(?P=mark)"|\Z)'
    r"|//(?:\\\n|[^\n])*"
    r"|/\*.*?(?:\*/|\Z)"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n]){1,8}'",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
# A definition: a forward declaration or a use ends otherwise.
_SPECIALIZATION = re.compile(
    r"\b(?:struct|class)\s+Operator\s*<([^<>;{}()]*)>\s*(?:final\b\s*)?(?=[:{])"
)


@dataclass(frozen=True)
class Slot:
    """A slot with the line of the header that declares it."""

    number: int
    line: int


def class_name(operator: str) -> str:
    """The C++ class of an operator: `silu_and_mul` -> `SiluAndMul`."""
    return "".join(part.capitalize() for part in operator.split("_"))


def find_specializations(text: str) -> list[tuple[int, tuple[str, ...]]]:
    """Line and template arguments of each specialization of `Operator` that `text` defines."""
    code = _DIRECTIVE.sub(_blank, _NO_CODE.sub(_blank, text))
    return [
        (
            code.count("\n", 0, match.start()) + 1,
            tuple(argument.strip() for argument in match[1].split(",")),
        )
        for match in _SPECIALIZATION.finditer(code)
    ]


def declares_slot(header: Path) -> bool:
    """Whether a header, whatever else it is, defines a specialization of `Operator` in its first
    MiB. Raises OSError.
    """
    with open_file(header) as stream:
        text = stream.read(_GREATEST_SIZE).decode("utf-8", "replace")
    return bool(find_specializations(text))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def read_slot(header: Path, operator: str, device: str) -> Slot:
    """The slot that a header declares for an operator on a device.

    Raises:
        ContractError: There is no such specialization, there are several, or the slot is not in
            16..31.
    """
    name = f"Operator<{class_name(operator)}, Device::Type::k{device.capitalize()}, SLOT>"
    found = find_specializations(read_text(header, _GREATEST_SIZE))

    def refuse(code: str, message: str, line: int, got: str, help: str) -> ContractError:
        return ContractError(
            Problem(
                code,
                message,
                header.as_posix(),
                line,
                expected=f"`struct {name}`",
                got=got,
                help=help,
            )
        )

    if not found:
        raise refuse(
            "slot-unreadable",
            "the header defines no specialization of `Operator`",
            1,
            "no such definition outside comments, texts and preprocessor lines",
            "define it in this header; macros are not expanded",
        )
    if len(found) > 1:
        raise refuse(
            "slot-unreadable",
            "the header defines more than one specialization of `Operator`",
            found[1][0],
            ", ".join(f"line {line}: Operator<{', '.join(given)}>" for line, given in found),
            "give each implementation its own files; `#if` is not evaluated",
        )
    line, arguments = found[0]
    given = f"`Operator<{', '.join(arguments)}>`"
    if len(arguments) != 3 or not re.fullmatch(r"[0-9]+", arguments[2]):
        raise refuse(
            "slot-unreadable",
            "the slot is not written as a number",
            line,
            given,
            "write the operator, the device and a decimal slot; constants and macros are not read",
        )
    if re.sub(r"\s", "", arguments[0]).split("::")[-1] != class_name(operator) or not re.fullmatch(
        rf"(?:::\s*)?(?:\w+\s*::\s*)*Device\s*::\s*Type\s*::\s*k{device.capitalize()}", arguments[1]
    ):
        raise refuse(
            "slot-mismatch",
            "the header specializes another operator or device than its folder says",
            line,
            given,
            "move the files, or correct the specialization",
        )
    slot = int(arguments[2][:10])
    if not LEAST_SLOT <= slot <= GREATEST_SLOT:
        raise refuse(
            "slot-range",
            f"slot {arguments[2][:10]} is not one of a linked implementation",
            line,
            given,
            f"choose a free slot from {LEAST_SLOT} to {GREATEST_SLOT}",
        )
    return Slot(slot, line)
