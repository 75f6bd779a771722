"""Models and schedulers of diffusers, of tiny sizes, chosen by name before any was compiled; a scheduler makes one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any


def noise(*shape: int) -> Any:
    import torch

    return torch.randn(shape)


def below(limit: int, *shape: int) -> Any:
    import torch

    return torch.randint(limit, shape)


def ones(*shape: int) -> Any:
    import torch

    return torch.ones(shape)


def zeros(*shape: int) -> Any:
    import torch

    return torch.zeros(shape)


def steps() -> Any:
    return below(1000, 2)


def rotary(name: str, *arguments: Any, **settings: Any) -> Any:
    """Rotary embeddings as the pipelines make them."""
    from diffusers.models import embeddings

    return getattr(embeddings, name)(*arguments, **settings)


Inputs = Callable[[], dict[str, Any]]

CLASSES: dict[str, tuple[str, Mapping[str, Any], Inputs]] = {
    "unet_1d": (
        "UNet1DModel",
        dict(
            in_channels=14,
            out_channels=14,
            time_embedding_type="positional",
            use_timestep_embedding=True,
            flip_sin_to_cos=False,
            freq_shift=1.0,
            down_block_types=("DownResnetBlock1D",) * 4,
            mid_block_type="MidResTemporalBlock1D",
            up_block_types=("UpResnetBlock1D",) * 3,
            out_block_type="OutConv1DBlock",
            act_fn="swish",
            block_out_channels=(8, 8, 16, 16),
        ),
        lambda: dict(sample=noise(2, 14, 16), timestep=steps()),
    ),
    "unet_2d": (
        "UNet2DModel",
        dict(
            sample_size=16,
            block_out_channels=(16, 32),
            down_block_types=("DownBlock2D", "AttnDownBlock2D"),
            up_block_types=("AttnUpBlock2D", "UpBlock2D"),
            layers_per_block=1,
            norm_num_groups=8,
            attention_head_dim=8,
        ),
        lambda: dict(sample=noise(2, 3, 16, 16), timestep=steps()),
    ),
    "unet_2d_condition": (
        "UNet2DConditionModel",
        dict(
            sample_size=16,
            block_out_channels=(16, 32),
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
            layers_per_block=1,
            norm_num_groups=8,
            cross_attention_dim=16,
            attention_head_dim=8,
        ),
        lambda: dict(sample=noise(2, 4, 16, 16), timestep=steps(), encoder_hidden_states=noise(2, 6, 16)),
    ),
    "unet_3d_condition": (
        "UNet3DConditionModel",
        dict(
            sample_size=8,
            block_out_channels=(16, 32),
            down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
            up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
            layers_per_block=1,
            norm_num_groups=8,
            cross_attention_dim=16,
            attention_head_dim=8,
        ),
        lambda: dict(sample=noise(2, 4, 3, 8, 8), timestep=steps(), encoder_hidden_states=noise(2, 6, 16)),
    ),
    "unet_motion": (
        "UNetMotionModel",
        dict(
            sample_size=8,
            block_out_channels=(16, 32),
            down_block_types=("CrossAttnDownBlockMotion", "DownBlockMotion"),
            up_block_types=("UpBlockMotion", "CrossAttnUpBlockMotion"),
            layers_per_block=1,
            norm_num_groups=8,
            cross_attention_dim=16,
            num_attention_heads=2,
            motion_num_attention_heads=2,
        ),
        lambda: dict(sample=noise(1, 4, 3, 8, 8), timestep=below(1000, 1), encoder_hidden_states=noise(3, 6, 16)),
    ),
    "controlnet": (
        "ControlNetModel",
        dict(
            block_out_channels=(16, 32),
            down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
            layers_per_block=1,
            norm_num_groups=8,
            cross_attention_dim=16,
            attention_head_dim=8,
            conditioning_embedding_out_channels=(8, 16),
        ),
        lambda: dict(
            sample=noise(2, 4, 16, 16),
            timestep=steps(),
            encoder_hidden_states=noise(2, 6, 16),
            controlnet_cond=noise(2, 3, 32, 32),
        ),
    ),
    "autoencoder_kl": (
        "AutoencoderKL",
        dict(
            block_out_channels=(16, 32),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            norm_num_groups=8,
        ),
        lambda: dict(sample=noise(2, 3, 32, 32)),
    ),
    "autoencoder_tiny": (
        "AutoencoderTiny",
        dict(
            encoder_block_out_channels=(16, 16),
            decoder_block_out_channels=(16, 16),
            num_encoder_blocks=(1, 2),
            num_decoder_blocks=(2, 1),
        ),
        lambda: dict(sample=noise(2, 3, 32, 32)),
    ),
    "consistency_decoder_vae": (
        "ConsistencyDecoderVAE",
        dict(
            encoder_block_out_channels=(16, 16),
            encoder_down_block_types=("DownEncoderBlock2D",) * 2,
            encoder_layers_per_block=1,
            encoder_norm_num_groups=8,
            decoder_block_out_channels=(16, 16),
            decoder_down_block_types=("ResnetDownsampleBlock2D",) * 2,
            decoder_up_block_types=("ResnetUpsampleBlock2D",) * 2,
            decoder_layers_per_block=1,
            decoder_norm_num_groups=8,
        ),
        lambda: dict(sample=noise(2, 3, 16, 16)),
    ),
    "vq_model": (
        "VQModel",
        dict(
            block_out_channels=(16, 32),
            down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
            num_vq_embeddings=32,
            norm_num_groups=8,
        ),
        lambda: dict(sample=noise(2, 3, 32, 32)),
    ),
    "transformer_2d": (
        "Transformer2DModel",
        dict(in_channels=16, num_attention_heads=2, attention_head_dim=8, norm_num_groups=8, cross_attention_dim=16),
        lambda: dict(hidden_states=noise(2, 16, 8, 8), encoder_hidden_states=noise(2, 6, 16)),
    ),
    "dit_transformer_2d": (
        "DiTTransformer2DModel",
        dict(sample_size=8, num_layers=2, num_attention_heads=2, attention_head_dim=8, num_embeds_ada_norm=10),
        lambda: dict(hidden_states=noise(2, 4, 8, 8), timestep=steps(), class_labels=below(10, 2)),
    ),
    "pixart_transformer_2d": (
        "PixArtTransformer2DModel",
        dict(
            sample_size=8,
            num_layers=2,
            num_attention_heads=2,
            attention_head_dim=8,
            cross_attention_dim=16,
            caption_channels=12,
            use_additional_conditions=False,
        ),
        lambda: dict(
            hidden_states=noise(2, 4, 8, 8),
            encoder_hidden_states=noise(2, 6, 12),
            timestep=steps(),
            added_cond_kwargs=dict(resolution=None, aspect_ratio=None),
        ),
    ),
    "sd3_transformer_2d": (
        "SD3Transformer2DModel",
        dict(
            sample_size=8,
            in_channels=4,
            out_channels=4,
            num_layers=2,
            num_attention_heads=2,
            attention_head_dim=8,
            joint_attention_dim=16,
            caption_projection_dim=16,
            pooled_projection_dim=12,
            pos_embed_max_size=16,
        ),
        lambda: dict(
            hidden_states=noise(2, 4, 8, 8),
            encoder_hidden_states=noise(2, 6, 16),
            pooled_projections=noise(2, 12),
            timestep=steps(),
        ),
    ),
    "flux_transformer_2d": (
        "FluxTransformer2DModel",
        dict(
            in_channels=4,
            num_layers=1,
            num_single_layers=1,
            num_attention_heads=2,
            attention_head_dim=16,
            joint_attention_dim=16,
            pooled_projection_dim=12,
            axes_dims_rope=(4, 4, 8),
        ),
        lambda: dict(
            hidden_states=noise(2, 16, 4),
            encoder_hidden_states=noise(2, 6, 16),
            pooled_projections=noise(2, 12),
            timestep=steps() / 1000,
            img_ids=below(4, 16, 3).float(),
            txt_ids=zeros(6, 3),
        ),
    ),
    "hunyuan_dit_2d": (
        "HunyuanDiT2DModel",
        dict(
            sample_size=16,
            patch_size=2,
            in_channels=4,
            num_layers=2,
            num_attention_heads=2,
            attention_head_dim=8,
            hidden_size=16,
            cross_attention_dim=16,
            cross_attention_dim_t5=16,
            pooled_projection_dim=8,
            text_len=6,
            text_len_t5=6,
            activation_fn="gelu-approximate",
        ),
        lambda: dict(
            hidden_states=noise(2, 4, 16, 16),
            timestep=steps().float(),
            encoder_hidden_states=noise(2, 6, 16),
            text_embedding_mask=ones(2, 6),
            encoder_hidden_states_t5=noise(2, 6, 16),
            text_embedding_mask_t5=ones(2, 6),
            image_meta_size=below(1024, 2, 6).float(),
            style=zeros(2).long(),
            image_rotary_emb=rotary("get_2d_rotary_pos_embed", 8, ((0, 0), (8, 8)), grid_size=(8, 8), output_type="pt"),
        ),
    ),
    "cogvideox_transformer_3d": (
        "CogVideoXTransformer3DModel",
        dict(
            num_attention_heads=2,
            attention_head_dim=8,
            in_channels=4,
            out_channels=4,
            time_embed_dim=8,
            text_embed_dim=16,
            num_layers=2,
            sample_width=8,
            sample_height=8,
            sample_frames=5,
            max_text_seq_length=6,
        ),
        lambda: dict(hidden_states=noise(2, 2, 4, 8, 8), encoder_hidden_states=noise(2, 6, 16), timestep=steps()),
    ),
    "ltx_video_transformer_3d": (
        "LTXVideoTransformer3DModel",
        dict(
            in_channels=4,
            out_channels=4,
            num_attention_heads=2,
            attention_head_dim=8,
            cross_attention_dim=16,
            caption_channels=12,
            num_layers=2,
        ),
        lambda: dict(
            hidden_states=noise(2, 32, 4),
            encoder_hidden_states=noise(2, 6, 12),
            timestep=steps(),
            encoder_attention_mask=ones(2, 6).bool(),
            num_frames=2,
            height=4,
            width=4,
        ),
    ),
    "wan_transformer_3d": (
        "WanTransformer3DModel",
        dict(
            num_attention_heads=2,
            attention_head_dim=12,
            in_channels=4,
            out_channels=4,
            text_dim=16,
            freq_dim=32,
            ffn_dim=32,
            num_layers=2,
            rope_max_seq_len=32,
        ),
        lambda: dict(hidden_states=noise(2, 4, 2, 8, 8), timestep=steps(), encoder_hidden_states=noise(2, 6, 16)),
    ),
    "sana_transformer_2d": (
        "SanaTransformer2DModel",
        dict(
            sample_size=8,
            in_channels=4,
            out_channels=4,
            num_layers=2,
            num_attention_heads=2,
            attention_head_dim=8,
            num_cross_attention_heads=2,
            cross_attention_head_dim=8,
            cross_attention_dim=16,
            caption_channels=12,
        ),
        lambda: dict(hidden_states=noise(2, 4, 8, 8), encoder_hidden_states=noise(2, 6, 12), timestep=steps()),
    ),
    "auraflow_transformer_2d": (
        "AuraFlowTransformer2DModel",
        dict(
            sample_size=8,
            num_mmdit_layers=1,
            num_single_dit_layers=1,
            num_attention_heads=2,
            attention_head_dim=8,
            joint_attention_dim=16,
            caption_projection_dim=16,
            pos_embed_max_size=64,
        ),
        lambda: dict(hidden_states=noise(2, 4, 8, 8), encoder_hidden_states=noise(2, 6, 16), timestep=steps() / 1000),
    ),
    "lumina_next_dit_2d": (
        "LuminaNextDiT2DModel",
        dict(
            sample_size=16,
            hidden_size=24,
            num_layers=2,
            num_attention_heads=3,
            num_kv_heads=1,
            multiple_of=16,
            cross_attention_dim=16,
        ),
        lambda: dict(
            hidden_states=noise(2, 4, 16, 16),
            timestep=steps() / 1000,
            encoder_hidden_states=noise(2, 6, 16),
            encoder_mask=ones(2, 6),
            image_rotary_emb=rotary("get_2d_rotary_pos_embed_lumina", 8, 32, 32),
            cross_attention_kwargs={},
        ),
    ),
    "prior_transformer": (
        "PriorTransformer",
        dict(num_attention_heads=2, attention_head_dim=8, num_layers=2, embedding_dim=16, num_embeddings=6),
        lambda: dict(
            hidden_states=noise(2, 16),
            timestep=steps(),
            proj_embedding=noise(2, 16),
            encoder_hidden_states=noise(2, 6, 16),
        ),
    ),
}

SCHEDULERS: dict[str, str] = {
    "cogvideox_ddim": "CogVideoXDDIMScheduler",
    "ddim": "DDIMScheduler",
    "ddim_inverse": "DDIMInverseScheduler",
    "ddim_parallel": "DDIMParallelScheduler",
    "ddpm": "DDPMScheduler",
    "ddpm_parallel": "DDPMParallelScheduler",
    "deis_multistep": "DEISMultistepScheduler",
    "dpmsolver_multistep": "DPMSolverMultistepScheduler",
    "dpmsolver_multistep_inverse": "DPMSolverMultistepInverseScheduler",
    "dpmsolver_singlestep": "DPMSolverSinglestepScheduler",
    "edm_dpmsolver_multistep": "EDMDPMSolverMultistepScheduler",
    "edm_euler": "EDMEulerScheduler",
    "euler_ancestral_discrete": "EulerAncestralDiscreteScheduler",
    "euler_discrete": "EulerDiscreteScheduler",
    "flow_match_euler_discrete": "FlowMatchEulerDiscreteScheduler",
    "flow_match_heun_discrete": "FlowMatchHeunDiscreteScheduler",
    "heun_discrete": "HeunDiscreteScheduler",
    "kdpm_2_ancestral_discrete": "KDPM2AncestralDiscreteScheduler",
    "kdpm_2_discrete": "KDPM2DiscreteScheduler",
    "lcm": "LCMScheduler",
    "pndm": "PNDMScheduler",
    "tcd": "TCDScheduler",
    "unipc_multistep": "UniPCMultistepScheduler",
}


def model_entry(name: str, config: Mapping[str, Any], inputs: Inputs) -> tuple[Any, list[Any]]:
    import torch
    from without_kernels import without_kernels

    without_kernels()
    import diffusers

    torch.manual_seed(0)
    model = getattr(diffusers, name)(**config).eval()
    for weight in model.parameters():
        if weight.dim() > 1 and not weight.any():  # as training would leave it: a zero one hides all before it
            torch.nn.init.normal_(weight, std=0.1)
    return model, [dict(**inputs(), return_dict=False) for _ in range(2)]


def scheduler_entry(name: str) -> tuple[Any, list[Any]]:
    import torch
    from without_kernels import without_kernels

    without_kernels()
    import diffusers

    class Step(torch.nn.Module):
        """A step at the fourth timestep; the scheduler looks its index up in every call."""

        def __init__(self, scheduler):
            super().__init__()
            self.scheduler = scheduler

        def forward(self, sample, noise):
            if hasattr(self.scheduler, "_step_index"):
                self.scheduler._step_index = None
            return self.scheduler.step(noise, self.scheduler.timesteps[3], sample).prev_sample

    torch.manual_seed(0)
    scheduler = getattr(diffusers, name)()
    scheduler.set_timesteps(10)
    if hasattr(scheduler, "scale_model_input"):  # once, as a model's input: without it some warn at every step
        scheduler.scale_model_input(noise(2, 4, 8, 8), scheduler.timesteps[3])
    return Step(scheduler).eval(), [(noise(2, 4, 8, 8), noise(2, 4, 8, 8)) for _ in range(2)]


MODELS: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    **{name: partial(model_entry, *row) for name, row in CLASSES.items()},
    **{f"step_{name}": partial(scheduler_entry, scheduler) for name, scheduler in SCHEDULERS.items()},
}

for name, constructor in MODELS.items():
    globals()[f"graphmend_entry_{name}"] = constructor
