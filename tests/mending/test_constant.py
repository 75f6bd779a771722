"""What follows from whole numbers, computed while Dynamo traces: anew for each number, and raising what it raises."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_function_of_numbers_is_a_constant_for_each_of_them(backend: str) -> None:
    import torch
    from graphmend_support import of_numbers

    calls: list[int] = []

    def squares(n: int) -> tuple[float, ...]:
        calls.append(n)
        if n < 0:
            raise ValueError(f"negative: {n}")
        return tuple(one * 0.5 for one in range(n))

    told = of_numbers(squares)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, n: x + sum(told(n)), backend=backend, fullgraph=True)
    for n in (2, 3, 4, 5, 3):
        assert compiled(torch.ones(2), n).tolist() == [1 + sum(squares(n))] * 2
    calls.clear()
    compiled(torch.zeros(2), 3)
    assert calls == []
    assert told(3) == (0.0, 0.5, 1.0) and calls == [3]
    torch._dynamo.reset()
    broken = torch.compile(lambda x, n: x + sum(told(n)), backend=backend)
    with pytest.raises(ValueError, match="negative: -1"):
        broken(torch.ones(2), -1)


def test_what_warns_while_dynamo_traces_warns_in_each_call() -> None:
    import warnings

    import torch
    from graphmend_support import of_numbers

    def told(n: int) -> int:
        if n > 3:
            warnings.warn(f"large: {n}", RuntimeWarning, stacklevel=1)
        return n

    compiled = torch.compile(lambda x, n: x + of_numbers(told)(n), backend="eager")
    for n, count in ((2, 0), (5, 1), (5, 1)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert compiled(torch.zeros(2), n).tolist() == [n] * 2
        assert [str(one.message) for one in seen if "large" in str(one.message)] == [f"large: {n}"] * count
