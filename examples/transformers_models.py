"""Entries for real models of transformers 4.52.4, with small random weights: nothing is downloaded.

    graphmend-lsp check examples/transformers_models.py --entry examples/transformers_models.py:t5
"""

import torch
import transformers as hf


def t5():
    config = hf.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0)
    ids = torch.randint(2, 64, (2, 7))
    model = hf.T5ForConditionalGeneration(config)
    return model, [dict(input_ids=ids, decoder_input_ids=ids[:, :5]), dict(input_ids=ids + 0, decoder_input_ids=ids[:, :3])]


def biogpt():
    config = hf.BioGptConfig(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64
    )
    ids = torch.randint(2, 64, (2, 7))
    return hf.BioGptForCausalLM(config), [dict(input_ids=ids), dict(input_ids=ids[:, :4])]


def phi3():
    config = hf.Phi3Config(
        vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
        max_position_embeddings=64, original_max_position_embeddings=16, pad_token_id=0,
        rope_scaling={"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
    )
    long, short = torch.randint(2, 64, (1, 24)), torch.randint(2, 64, (1, 9))
    return hf.Phi3ForCausalLM(config), [dict(input_ids=prompt) for prompt in (long, short, long, short)]


def bart_fp16():
    config = hf.BartConfig(
        vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=64, decoder_ffn_dim=64, max_position_embeddings=64,
    )
    ids = torch.randint(3, 64, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    model = hf.BartForConditionalGeneration(config).half()
    return model, [dict(input_ids=ids, attention_mask=mask, decoder_input_ids=ids[:, :1])] * 2
