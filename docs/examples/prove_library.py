"""The installed PyTorch has the functions that generated source and linked operators call.

The contracts in `linked/` beside this file name functions of PyTorch's library by their exact
signatures, behind `torch.nn.functional.silu` and `rms_norm`. linked-resolver proves them without
loading the library; a contract that does not hold is refused.
"""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from linked_resolver import Resolution, Selection, prove

CONTRACTS = Path(__file__).with_name("linked")
LIBRARY = "libtorch_cpu.so"


def prove_pytorch() -> Resolution:
    """What was proved of the installed PyTorch; raises ResolveError where a contract fails."""
    resolution = prove(CONTRACTS)
    resolution.raise_for_problems()
    return resolution


def refuse_a_wrong_contract() -> str:
    """The answer to a contract that looks for silu in another library of PyTorch, libc10.so."""
    with TemporaryDirectory() as folder:
        wrong = Path(shutil.copytree(CONTRACTS, Path(folder) / "linked"))
        contract = wrong / "torch/cpu/pytorch.yaml"
        contract.write_text(contract.read_text().replace(LIBRARY, "libc10.so"))
        problems = prove(wrong, selection=Selection.of({"silu": None})).problems
    assert [problem.code for problem in problems] == ["symbol-missing", "symbol-missing"]
    return problems[0].message


def main() -> None:
    """Proves the contracts, has a wrong one refused, and prints both answers."""
    proved = prove_pytorch()
    for item in proved.implementations:
        print(f"proved: {item.id}, slot {item.slot.number}")
    (library,) = proved.libraries
    print(f"by: {library.path.name} of {library.distribution.title}")
    print(f"refused: {refuse_a_wrong_contract()}")


if __name__ == "__main__":
    main()
