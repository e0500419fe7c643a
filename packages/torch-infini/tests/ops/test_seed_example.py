import torch


def test_the_documented_example_runs_as_written() -> None:
    src = torch.arange(16, dtype=torch.float32).reshape(4, 4)
    x = torch.empty(src.shape, dtype=src.dtype, device="infini:0")
    x.copy_(src)
    y = torch.add(x, x)

    out = torch.empty_like(src)
    out.copy_(y)
    torch.testing.assert_close(out, src + src)
