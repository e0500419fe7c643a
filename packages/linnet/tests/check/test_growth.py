"""The work of a check grows with the length of the text and no faster."""

from __future__ import annotations

import cProfile
import gc
import pstats

from linnet.check import check_text

PART = """
op act{i}<N: Dim, H: Dim>(x: Tensor[N, H; f32], w: Tensor[H; f32]) -> Tensor[N, H; f32]
where H > 0, H % 2 == 0 {{
    let y[n, h] = x[n, h] * w[h]
    let left = y[:, 0:H / 2]
    let right = y[:, H / 2:H]
    return concat(right, left, axis = 1)
}}
block Layer{i}<N: Dim> {{
    param w: Tensor[N; f32]
    pub fn forward(x: Tensor[3, 8; f32], v: Tensor[8; f32]) -> Tensor[3, 8; f32] {{
        return act{i}(x, v) + 1.0
    }}
}}
"""


def calls(parts: int) -> int:
    """How many functions a check of so many parts calls."""
    text = "module m\n" + "".join(PART.format(i=i) for i in range(parts))
    profile = cProfile.Profile()
    profile.enable()
    program = check_text(text)
    profile.disable()
    assert not program.errors
    found: int = pstats.Stats(profile).total_calls  # type: ignore[attr-defined]  # not in the stubs
    return found


def test_four_times_the_text_is_at_most_about_four_times_the_work() -> None:
    calls(1)
    short, long = calls(20), calls(80)
    assert 3.5 * short < long < 4.4 * short


def test_the_collector_is_left_as_it_was() -> None:
    for on in (True, False):
        (gc.enable if on else gc.disable)()
        check_text("module m\nconst A = missing")
        assert gc.isenabled() == on
    gc.enable()
