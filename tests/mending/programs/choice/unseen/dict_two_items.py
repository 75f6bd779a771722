"""Mended: items set on both sides and on one."""

import torch


def forward(x):
    stats = {"total": x.sum(), "peak": x.amax()}
    if stats["total"] > 0:
        stats["total"] = stats["total"] * 2
        stats["peak"] = stats["peak"] + 1
    return x * stats["total"] + stats["peak"]


def graphmend_entry():
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    return forward, [(x,), (-x,)]
