"""How much one graph may take to make, so that a small text cannot ask for an endless one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linnet.graph.bound import BindingError

# Operations of the IR that are run for one graph. A decoder of a hundred layers takes some ten
# thousand.
MOST_OPERATIONS = 200_000
# Calls and branches inside one another; each takes a few calls on Python's stack.
DEEPEST_RUN = 1000
# Bodies of steps inside one another. Python refuses generated source with 100 indentations.
DEEPEST_BODY = 64
# Loops of the running program inside one another; Python refuses more than 20 in its source.
DEEPEST_LOOP = 16
# Block instances of one root.
MOST_INSTANCES = 200_000


class GraphSizeError(BindingError):
    """A graph over a limit; whoever knows where in the source adds it."""


class Work:
    """What one graph took until now."""

    def __init__(self) -> None:
        self.operations = 0
        self.depth = 0
        self.loops = 0

    def enter(self, operations: int, bodies: int) -> None:
        """Counts the operations of a region that is about to run inside so many bodies.

        Raises GraphSizeError.
        """
        self.operations += operations
        self.depth += 1
        if self.operations > MOST_OPERATIONS:
            raise GraphSizeError(
                f"the graph takes more than {MOST_OPERATIONS:,} operations, since calls are "
                "inlined and `static for` is unrolled; bind smaller sizes, or write the loop "
                "with `for`"
            )
        if self.depth > DEEPEST_RUN:
            raise GraphSizeError(f"calls and branches are more than {DEEPEST_RUN} levels deep")
        if bodies > DEEPEST_BODY:
            raise GraphSizeError(
                f"loops and branches are more than {DEEPEST_BODY} levels deep, counting those of "
                "the functions around them"
            )

    def leave(self) -> None:
        """Says that the region has run."""
        self.depth -= 1

    @contextmanager
    def loop(self) -> Iterator[None]:
        """Marks what runs inside as the body of a loop of the running program.

        Raises GraphSizeError.
        """
        self.loops += 1
        if self.loops > DEEPEST_LOOP:
            raise GraphSizeError(
                f"loops are more than {DEEPEST_LOOP} levels deep, counting those of the functions "
                "around them; join them, or unroll the inner ones with `static for`"
            )
        try:
            yield
        finally:
            self.loops -= 1


def check_instances(count: int, path: str) -> None:
    """Raises GraphSizeError for more block instances than a root may have, with those of `path`."""
    if count > MOST_INSTANCES:
        raise GraphSizeError(
            f"the root has more than {MOST_INSTANCES:,} block instances, with {path}; "
            "bind smaller sizes"
        )
