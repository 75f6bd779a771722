"""What the listed rule mends and what it declines: its tests, and its part of the user guide."""

from __future__ import annotations

from graphmend_lsp.mending.rule import Example, Refusal

_START = """\
import torch


class Fusion(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Linear(3, 3)

    def forward(self, x, long_rows=None):
        out = x[:, 0] * 2
        if len(long_rows) > 0:
            # the other crops
            crops = x[long_rows, 1:].contiguous()
            size, count, width = crops.shape
            crops = crops.view(size * count, width)
            crops = crops.view(size, count, width).tanh()
            {store}
        return out


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fusion = Fusion()

    def forward(self, x, is_long=None):
        long_rows = None
        if is_long is not None:
            long_rows = {rows}
        x = x.sin()
        return self.fusion(x, long_rows).cos(){more}
"""

_STORE = "out[long_rows] = self.mix(out[long_rows]) + crops.sum(dim=1)"
_ROWS = "⟦torch.where(is_long == 1)⟧[0]"

_RUN = """\
torch.manual_seed(0)
fn = Encoder().eval().double()
x = torch.arange(24.0, dtype=torch.double).reshape(2, 4, 3)
calls = [(x, torch.tensor(one)[:, None]) for one in ([1, 0], [0, 0], [1, 1])]
"""


def _program(store: str = _STORE, rows: str = _ROWS, more: str = "") -> str:
    return _START.format(store=store, rows=rows, more=more)


EXAMPLES: tuple[Example, ...] = (
    Example(
        "rows that get more crops",
        before=_program(),
        after=_program(
            """\
out[long_rows] = torch.where(
                (long_rows >= 0).reshape(-1, *[1] * (out.dim() - 1)),
                self.mix(chosen_rows(out[long_rows], long_rows)) + crops.sum(dim=1),
                out[long_rows],
            )""",
            """\
(
                torch.where(is_long == 1)[0]
                if self.training
                else all_rows(is_long == 1)
            )""",
        )
        .replace("x[long_rows, 1:].contiguous()", "chosen_rows(x[long_rows, 1:], long_rows).contiguous()")
        .replace(
            "import torch\n",
            "import torch\n\nfrom graphmend_support import all_rows, chosen_rows\n",
            1,
        ),
        run=_RUN,
        gb_id="GB0036",
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "the rows are returned",
        _program("return self.mix(crops)"),
        "would also run where no row is chosen",
        gb_id="GB0036",
    ),
    Refusal(
        "the rows are mixed",
        _program("out[long_rows] = out[long_rows] - crops.mean()"),
        "`crops.mean()` may mix the chosen rows",
        gb_id="GB0036",
    ),
    Refusal(
        "what rows there are is counted",
        _program("out = out + long_rows.shape[0]"),
        "`out` would also be set where no row is chosen",
        gb_id="GB0036",
    ),
    Refusal(
        "the list is also used where it is made",
        _program(more=" + len(long_rows)"),
        "is handed on and also used right there",
        gb_id="GB0036",
    ),
    Refusal(
        "the numbers of the rows are stored",
        _program("out[long_rows] = out[long_rows] + long_rows[:, None]"),
        "uses the numbers of the rows",
        gb_id="GB0036",
    ),
    Refusal(
        "other rows are stored",
        _program("out[long_rows + 1] = crops.sum(dim=1)"),
        "is not the rows that were chosen",
        gb_id="GB0036",
    ),
    Refusal(
        "random numbers for each row",
        _program("out[long_rows] = out[long_rows] + torch.rand_like(out[long_rows])"),
        "draws random numbers for each row",
        gb_id="GB0036",
    ),
    Refusal(
        "a BatchNorm where the list is not made by a module",
        _program()
        .replace("torch.nn.Linear(3, 3)", "torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))")
        .replace("class Encoder(torch.nn.Module):", "class Encoder:")
        .replace("        super().__init__()\n        self.fusion", "        self.fusion"),
        "`self.mix` takes statistics over the chosen rows (`torch.nn.BatchNorm1d(3)`)",
        gb_id="GB0036",
    ),
    Refusal(
        "a BatchNorm that keeps no statistics",
        _program().replace("torch.nn.Linear(3, 3)", "torch.nn.BatchNorm1d(3, track_running_stats=False)"),
        "takes statistics over the chosen rows",
        gb_id="GB0036",
    ),
    Refusal(
        "a function of another file",
        _program().replace("self.fusion = Fusion()", "self.fusion = build()"),
        "is no function of this file",
        gb_id="GB0036",
    ),
)
