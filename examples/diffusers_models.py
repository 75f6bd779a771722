"""A model of diffusers 0.33.1, with small random weights: nothing is downloaded.

    graphmend-lsp check examples/diffusers_models.py --entry examples/diffusers_models.py:video_unet
"""

import torch
from diffusers import UNetSpatioTemporalConditionModel


def video_unet():
    """The model of Stable Video Diffusion; frames of 13 by 13 do not halve evenly, which it logs in every call."""
    torch.manual_seed(0)
    model = UNetSpatioTemporalConditionModel(
        sample_size=12, in_channels=4, out_channels=4, block_out_channels=(32, 32), layers_per_block=1, num_attention_heads=(2, 2),
        down_block_types=("DownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
        up_block_types=("UpBlockSpatioTemporal", "UpBlockSpatioTemporal"),
        cross_attention_dim=16, addition_time_embed_dim=8, projection_class_embeddings_input_dim=24,
    ).eval()
    frames, image = torch.randn(1, 2, 4, 13, 13), torch.randn(1, 1, 16)
    call = dict(sample=frames, timestep=torch.tensor(3), encoder_hidden_states=image, added_time_ids=torch.rand(1, 3))
    return model, [call, {**call, "sample": frames + 1}]
