"""Adapters of PEFT on a small GPT-2."""

import peft
import torch
from transformers import GPT2Config, GPT2LMHeadModel


def adapted(config):
    torch.manual_seed(0)
    base = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=2, n_head=2, use_cache=False))
    return peft.get_peft_model(base, config).eval(), {
        "input_ids": torch.arange(12).view(2, 6),
        "labels": torch.arange(12).view(2, 6),
    }


def graphmend_entry_lora():
    return adapted(peft.LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"))


def graphmend_entry_ia3():
    return adapted(
        peft.IA3Config(
            target_modules=["c_attn", "mlp.c_proj"],
            feedforward_modules=["mlp.c_proj"],
            fan_in_fan_out=True,
            task_type="CAUSAL_LM",
        )
    )


def graphmend_entry_prompt_tuning():
    return adapted(peft.PromptTuningConfig(num_virtual_tokens=4, task_type="CAUSAL_LM"))
