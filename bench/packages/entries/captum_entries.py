"""Attribution methods of Captum on a small classifier."""

import captum.attr as attr
import torch
from torch import nn


def classifier():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).eval()


def inputs():
    return torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def graphmend_entry_saliency():
    return attr.Saliency(classifier()).attribute, {"inputs": inputs(), "target": 1}


def graphmend_entry_integrated_gradients():
    return attr.IntegratedGradients(classifier()).attribute, {"inputs": inputs(), "target": 1, "n_steps": 8}


def graphmend_entry_feature_ablation():
    return attr.FeatureAblation(classifier()).attribute, {"inputs": inputs(), "target": 1}


def graphmend_entry_occlusion():
    return attr.Occlusion(classifier()).attribute, {"inputs": inputs(), "target": 1, "sliding_window_shapes": (2,)}
