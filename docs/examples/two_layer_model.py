"""One model, five ways to run it, one result.

The two-layer model `packages/linnet/examples/two_layer.linnet` (normalise, map, add) runs
interpreted, as generated PyTorch source, planned over InfiniOps, and captured; then the same
arithmetic runs on PyTorch's device `infini`.
"""

from pathlib import Path

import torch
from torch import Tensor

import torch_infini  # noqa: F401  # registers the device
from infini.linnet import InfiniOps
from linnet.torch import LinnetModule, load
from linnet.torch.planned import Captured

SOURCE = Path(__file__).parents[2] / "packages/linnet/examples/two_layer.linnet"
WIDTH = 256
ROWS = 4


def make_weights(dtype: torch.dtype) -> dict[str, Tensor]:
    """Random weights under the model's parameter paths."""
    weights = {}
    for layer in range(2):
        weights[f"layers.{layer}.norm.weight"] = 1 + 0.1 * torch.randn(WIDTH)
        weights[f"layers.{layer}.proj.weight"] = torch.randn(WIDTH, WIDTH) / WIDTH**0.5
    return {path: weight.to(dtype) for path, weight in weights.items()}


def run_planned_and_captured(model: LinnetModule, x: Tensor) -> tuple[Tensor, Tensor]:
    """The result of the planned step, and of its capture in the third call, a replay."""
    plan = model.plan_for("forward", [x], backends=[InfiniOps()], measure=False)
    (planned,) = plan.run([x], model.context_for(plan))
    step = Captured(plan, model.context_for(plan))
    for _ in range(3):
        (captured,) = step([x])
    print(step.report())
    return planned, captured


def run_on_infini(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """The model's arithmetic with PyTorch's functions on device `infini`."""
    on_device = {path: weight.to("infini") for path, weight in weights.items()}
    y = x.to("infini")
    for layer in range(2):
        scale = on_device[f"layers.{layer}.norm.weight"]
        normal = torch.nn.functional.rms_norm(y, [WIDTH], scale, eps=1e-5)
        y = y + torch.nn.functional.linear(normal, on_device[f"layers.{layer}.proj.weight"])
    return y.cpu()


def main() -> None:
    """Runs the model every way, in both dtypes, and compares the results."""
    torch.manual_seed(0)
    print(f"device infini: {torch.infini.device_count()} devices")
    for dtype, name, tolerance in ((torch.float32, "f32", 1e-5), (torch.bfloat16, "bf16", 0.05)):
        weights = make_weights(dtype)
        x = torch.randn(ROWS, WIDTH).to(dtype)
        generics = {"H": WIDTH, "T": name}
        interpreted = load(SOURCE, generics=generics, weights=weights, compile=False)(x)
        model = load(SOURCE, generics=generics, weights=weights)
        planned, captured = run_planned_and_captured(model, x)
        assert torch.equal(planned, captured)
        results = {"generated": model(x), "planned": planned, "captured": captured}
        results["on infini"] = run_on_infini(weights, x)
        for way, result in results.items():
            torch.testing.assert_close(result, interpreted, rtol=tolerance, atol=tolerance)
            print(f"{name}: {way} equals interpreted")


if __name__ == "__main__":
    main()
