"""timm: one small model of most architectures, as `timm.create_model` makes it, with random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

MODELS = (
    "beit_base_patch16_224",
    "caformer_s18",
    "cait_xxs24_224",
    "coat_lite_tiny",
    "coatnet_pico_rw_224",
    "convit_tiny",
    "convnext_atto",
    "convnextv2_atto",
    "crossvit_tiny_240",
    "cspdarknet53",
    "davit_tiny",
    "deit_tiny_patch16_224",
    "densenet121",
    "dla34",
    "dpn48b",
    "edgenext_xx_small",
    "efficientformer_l1",
    "efficientformerv2_s0",
    "efficientnet_b0",
    "efficientvit_b0",
    "efficientvit_m0",
    "ese_vovnet19b_dw",
    "eva02_tiny_patch14_224",
    "fastvit_t8",
    "focalnet_tiny_srf",
    "gcvit_xxtiny",
    "ghostnet_050",
    "ghostnetv2_100",
    "gmlp_ti16_224",
    "hardcorenas_a",
    "hgnet_tiny",
    "hiera_tiny_224",
    "hrnet_w18_small",
    "inception_next_atto",
    "inception_v3",
    "lcnet_035",
    "legacy_seresnet18",
    "levit_128s",
    "mambaout_femto",
    "mixer_s32_224",
    "mnasnet_small",
    "mobilenetv3_small_050",
    "mobilenetv4_conv_small",
    "mobileone_s0",
    "mobilevit_xxs",
    "mobilevitv2_050",
    "mvitv2_tiny",
    "nest_tiny",
    "nextvit_small",
    "nf_regnet_b0",
    "pit_ti_224",
    "poolformer_s12",
    "pvt_v2_b0",
    "rdnet_tiny",
    "regnetx_002",
    "repghostnet_050",
    "repvgg_a0",
    "repvit_m0_9",
    "res2net50_14w_8s",
    "resmlp_12_224",
    "resnest14d",
    "resnet10t",
    "resnetv2_50",
    "rexnet_100",
    "selecsls42",
    "semnasnet_050",
    "sequencer2d_s",
    "skresnet18",
    "swin_tiny_patch4_window7_224",
    "swinv2_tiny_window8_256",
    "tiny_vit_5m_224",
    "tinynet_e",
    "tnt_s_patch16_224",
    "tresnet_m",
    "twins_svt_small",
    "vgg11",
    "visformer_tiny",
    "vit_relpos_small_patch16_224",
    "vit_tiny_patch16_224",
    "vitamin_small_224",
    "volo_d1_224",
    "xception41",
    "xcit_nano_12_p16_224",
)


def entry(name: str) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """The model in evaluation, and two images."""
    import torch
    from without_kernels import without_kernels

    without_kernels()
    import timm

    torch.manual_seed(0)
    model = timm.create_model(name, pretrained=False, num_classes=10).eval()
    size = model.default_cfg["input_size"]
    return model, [(torch.randn(1, *size),), (torch.randn(1, *size),)]


globals().update({f"graphmend_entry_{name}": partial(entry, name) for name in MODELS})
