"""The rows of the paper's table (arXiv 2509.16248): which models, what the published artifact left, and our entry for them.

Breaks are graphs - 1. `models` counts how many of the paper's rows share the model class. Stand-ins follow the pattern
of a model whose source or weights cannot be had offline.
"""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMMON = ("modeling_utils.py", "modeling_rope_utils.py", "modeling_attn_mask_utils.py")


@dataclass(frozen=True, slots=True)
class Row:
    """One model class. `published` are the paper's breaks before and after, None for a variant that it does not have.

    `package` is the model's folder in transformers, empty for a stand-in.
    """

    name: str
    entry: str
    models: int
    published: tuple[int, int] | None
    package: str = ""

    def entry_in(self, scratch: Path) -> str:
        """The entry as the command line takes it."""
        folder = scratch if self.package else scratch / "standins"
        return f"{folder / ('models.py' if self.package else self.entry)}:{self.entry if self.package else 'graphmend_entry'}"

    def files(self, scratch: Path) -> list[str]:
        """What may be mended: the model's own package and the files every model shares, or the stand-in."""
        if not self.package:
            return [str(scratch / "standins" / self.entry)]
        package = scratch / "transformers"
        return [
            *map(str, sorted((package / "models" / self.package).glob("modeling_*.py"))),
            *(str(package / name) for name in COMMON),
        ]


ROWS = (
    Row("T5 (t5-small, -base, -3b, flan-t5-large, it5)", "t5", 5, (3, 0), "t5"),
    Row("Whisper (whisper, -small, -base)", "whisper", 3, (3, 0), "whisper"),
    Row("Bart (bart, bart-base, rebel-large)", "bart", 3, (3, 0), "bart"),
    Row("Bart fp16", "bart_fp16", 0, None, "bart"),
    Row("Blenderbot", "blenderbot", 1, (3, 0), "blenderbot"),
    Row("Marian (opus-mt-fr-en)", "marian", 1, (3, 0), "marian"),
    Row("Marian fp16", "marian_fp16", 0, None, "marian"),
    Row("BioGpt", "biogpt", 1, (2, 0), "biogpt"),
    Row("Pegasus (causal)", "pegasus", 1, (2, 0), "pegasus"),
    Row("LayoutLMv3", "layoutlmv3", 1, (2, 0), "layoutlmv3"),
    Row("Phi3 longrope (Phi-4-mini)", "phi3", 1, (5, 0), "phi3"),
    Row("Longformer", "longformer", 1, (5, 3), "longformer"),
    Row("Longformer, global tokens", "longformer_global", 0, None, "longformer"),
    Row("GroundingDino (-tiny, -base)", "grounding_dino", 2, (16, 7), "grounding_dino"),
    Row("Clap fused", "clap", 1, (2, 2), "clap"),
    Row("chronos-bolt (stand-in)", "bolt_forecaster.py", 1, (4, 0)),
    Row("Florence-2 fp16 (stand-in)", "half_encoder.py", 1, (7, 0)),
    Row("Qwen-Audio (stand-in)", "audio_chat.py", 1, (2, 0)),
    Row("MoLFormer-XL (stand-in)", "linear_attention.py", 1, (5, 0)),
    Row("MoE minicpm (stand-in)", "experts.py", 1, (11, 11)),
    Row("stella unpadding (stand-in)", "unpadding.py", 1, (4, 4)),
)
