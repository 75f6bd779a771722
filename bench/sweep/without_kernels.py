"""A torchvision whose compiled part does not load, as a CUDA build beside a CPU torch, can be imported all the same."""

from __future__ import annotations


def without_kernels() -> None:
    """Declare the operators that torchvision asks for while it is imported. No model of these lists calls one."""
    import torch

    for name in ("nms", "qnms"):
        if not hasattr(torch.ops.torchvision, name):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
