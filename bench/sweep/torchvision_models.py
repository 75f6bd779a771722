"""torchvision: one small model of every family, with random weights; those that need compiled operators are left out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

SIZES = {"image": (3, 224, 224), "video": (3, 8, 112, 112), "large": (3, 299, 299), "pair": (3, 128, 128)}
MODELS = {
    "image": (
        "alexnet",
        "convnext_tiny",
        "densenet121",
        "efficientnet_b0",
        "efficientnet_v2_s",
        "googlenet",
        "maxvit_t",
        "mnasnet0_5",
        "mobilenet_v2",
        "mobilenet_v3_small",
        "regnet_x_400mf",
        "regnet_y_400mf",
        "resnet18",
        "resnext50_32x4d",
        "shufflenet_v2_x0_5",
        "squeezenet1_0",
        "swin_t",
        "swin_v2_t",
        "vgg11",
        "vgg11_bn",
        "vit_b_32",
        "wide_resnet50_2",
        "deeplabv3_mobilenet_v3_large",
        "fcn_resnet50",
        "lraspp_mobilenet_v3_large",
    ),
    "large": ("inception_v3",),
    "video": (
        "r3d_18",
        "mc3_18",
        "r2plus1d_18",
        "s3d",
        "mvit_v1_b",
        "swin3d_t",
    ),
    "pair": ("raft_small",),
}


def entry(name: str, kind: str) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """The model in evaluation, and two inputs of its kind."""
    import torch
    from without_kernels import without_kernels

    without_kernels()
    import torchvision

    torch.manual_seed(0)
    words: dict[str, Any] = {"weights": None}
    if kind != "pair":
        words["num_classes"] = 10
    if name in ("googlenet", "inception_v3"):
        words["init_weights"] = False
    if name.startswith(("deeplab", "fcn", "lraspp")):
        words["weights_backbone"] = None
    if name in ("mvit_v1_b", "swin3d_t", "s3d"):
        size = (3, 16, 224, 224)
    else:
        size = SIZES[kind]
    model = torchvision.models.get_model(name, **words).eval()
    return model, [tuple(torch.randn(1, *size) for _ in range(2 if kind == "pair" else 1)) for _ in range(2)]


globals().update(
    {f"graphmend_entry_{name}": partial(entry, name, kind) for kind, names in MODELS.items() for name in names}
)
