"""Small programs that several tests run; each is what follows the line with the module's name."""

SCAN = """
pub entry run<N: Dim, H: Dim>(xs: Tensor[N, H; f32], start: i64) -> (Tensor[N, H; f32], Tensor[N;
i64], i64) {
    var total = fill<f32>([H], 0.0)
    var count = start
    let (totals, marks) = for i in 0..N {
        total = total * 0.9 + xs[i]
        count = count + 1
        yield (total, count * count)
    }
    return (totals, marks, count)
}
"""

ARRAY = """
block Unit<N: Dim, T: Float = bf16> {
    param gain: Tensor[N; T]
    param bias: Tensor[N; T]? = none
    pub fn forward<B: Dim>(x: Tensor[B, N; T]) -> Tensor[B, N; T] {
        return match bias { some(b) => x * gain + b none => x * gain }
    }
}
pub block Stack<N: Dim, L: Dim> {
    sub units: [Unit<N>; L]
    sub first: Unit<N>
    pub entry run<B: Dim>(x0: Tensor[B, N; bf16]) -> Tensor[B, N; bf16] {
        var x = first.forward(x0) + first.gain
        static for unit in units { x = unit.forward(x) }
        return x
    }
}
"""

OPTIONAL_CHILD = """
block Head<N: Dim> {
    param w: Tensor[N; f32]
    pub fn forward(x: Tensor[N; f32]) -> Tensor[N; f32] { return x * w }
}
pub block Net<N: Dim> {
    sub head: Head<N>? = none
    pub entry run(x: Tensor[N; f32]) -> Tensor[N; f32] {
        return match head { some(h) => h.forward(x) none => x }
    }
}
"""

SPLIT = """
pub block Split<H: Dim, N: Dim>
where N > 0, H % N == 0 {
    param w: Tensor[N, H / N; f32]
    pub entry run<B: Dim>(x: Tensor[B, H; f32]) -> Tensor[B, N, H / N; f32] {
        return reshape(x, [B, N, H / N]) * w
    }
}
"""
