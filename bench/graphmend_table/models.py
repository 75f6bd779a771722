"""The models of the paper's table that transformers 4.52.4 has, with small random weights: nothing is downloaded.

Each function is an entry: it returns the model and calls of it. Calls differ in values, lengths or both, so that state
which one call leaves for the next would show.
"""

import torch
import transformers as hf

_TEXT = dict(
    vocab_size=64,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    max_position_embeddings=64,
)
_DECODER = dict(
    vocab_size=64,
    d_model=32,
    decoder_layers=2,
    decoder_attention_heads=4,
    decoder_ffn_dim=64,
    max_position_embeddings=64,
)
_SEQ2SEQ = dict(**_DECODER, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=64)


def _ids(*shape, low=3, high=64):
    return torch.randint(low, high, shape)


def _seq2seq(model, low=3):
    ids = _ids(2, 9, low=low)
    shorter = _ids(2, 6, low=low)
    return model, [
        dict(input_ids=ids, decoder_input_ids=ids[:, :5]),
        dict(input_ids=shorter, decoder_input_ids=shorter[:, :3]),
    ]


def t5():
    config = hf.T5Config(
        vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    return _seq2seq(hf.T5ForConditionalGeneration(config))


def whisper():
    config = hf.WhisperConfig(
        vocab_size=64,
        num_mel_bins=8,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_source_positions=20,
        max_target_positions=16,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=1,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return hf.WhisperForConditionalGeneration(config), [
        dict(input_features=torch.randn(2, 8, 40), decoder_input_ids=_ids(2, length)) for length in (5, 3)
    ]


def bart():
    return _seq2seq(hf.BartForConditionalGeneration(hf.BartConfig(**_SEQ2SEQ)))


def bart_fp16():
    ids = _ids(2, 9)
    mask = torch.ones_like(ids)
    mask[1, 6:] = 0
    model = hf.BartForConditionalGeneration(hf.BartConfig(**_SEQ2SEQ)).half()
    return model, [dict(input_ids=ids, attention_mask=mask, decoder_input_ids=ids[:, :1])] * 2


def blenderbot():
    return _seq2seq(hf.BlenderbotForConditionalGeneration(hf.BlenderbotConfig(**_SEQ2SEQ)))


def marian():
    return _seq2seq(hf.MarianMTModel(_marian_config()))


def marian_fp16():
    return _seq2seq(hf.MarianMTModel(_marian_config()).half())


def _marian_config():
    return hf.MarianConfig(**_SEQ2SEQ, pad_token_id=0, eos_token_id=2, decoder_start_token_id=0, forced_eos_token_id=2)


def biogpt():
    ids = _ids(2, 7)
    return hf.BioGptForCausalLM(hf.BioGptConfig(**_TEXT)), [dict(input_ids=ids), dict(input_ids=ids[:, :4])]


def pegasus():
    config = hf.PegasusConfig(**_DECODER, is_decoder=True, is_encoder_decoder=False, pad_token_id=0)
    ids = _ids(2, 7)
    return hf.PegasusForCausalLM(config), [dict(input_ids=ids), dict(input_ids=ids[:, :4])]


def layoutlmv3():
    config = hf.LayoutLMv3Config(
        **_TEXT,
        coordinate_size=5,
        shape_size=6,
        input_size=32,
        patch_size=16,
        max_2d_position_embeddings=64,
        rel_pos_bins=8,
        max_rel_pos=16,
        rel_2d_pos_bins=8,
        max_rel_2d_pos=16,
    )
    calls = []
    for length in (7, 5):
        boxes = torch.randint(0, 30, (2, length, 2))
        box = torch.cat([boxes, boxes + torch.randint(1, 30, (2, length, 2))], -1)
        calls.append(dict(input_ids=_ids(2, length), bbox=box, pixel_values=torch.randn(2, 3, 32, 32)))
    return hf.LayoutLMv3Model(config), calls


def phi3():
    config = hf.Phi3Config(
        **_TEXT,
        num_key_value_heads=4,
        original_max_position_embeddings=16,
        pad_token_id=0,
        rope_scaling={"type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4},
    )
    long, short = _ids(1, 24), _ids(1, 9)
    return hf.Phi3ForCausalLM(config), [dict(input_ids=prompt) for prompt in (long, short, long, short)]


def _longformer():
    sizes = _TEXT | dict(max_position_embeddings=66)
    return hf.LongformerModel(hf.LongformerConfig(**sizes, attention_window=4, pad_token_id=1))


def longformer():
    return _longformer(), [dict(input_ids=_ids(2, length)) for length in (7, 8, 7)]


def longformer_global():
    ids = _ids(2, 8)
    calls = []
    for tokens in (1, 2, 0):
        mask = torch.zeros_like(ids)
        mask[:, :tokens] = 1
        calls.append(dict(input_ids=ids, global_attention_mask=mask))
    return _longformer(), calls


def grounding_dino():
    text = hf.BertConfig(**_TEXT | dict(vocab_size=1100))
    backbone = hf.SwinConfig(
        image_size=64,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=4,
        out_features=["stage2", "stage3", "stage4"],
    )
    config = hf.GroundingDinoConfig(
        backbone_config=backbone,
        text_config=text,
        use_pretrained_backbone=False,
        d_model=32,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=8,
        max_text_len=16,
        num_feature_levels=4,
        encoder_n_points=2,
        decoder_n_points=2,
    )
    calls = []
    for words in ([101, 5, 6, 1012, 7, 1012, 102], [101, 9, 1012, 8, 4, 1012, 102]):
        ids = torch.tensor([words, words])
        calls.append(dict(
            pixel_values=torch.randn(2, 3, 64, 64), input_ids=ids, attention_mask=torch.ones_like(ids), token_type_ids=torch.zeros_like(ids)
        ))  # fmt: skip
    return hf.GroundingDinoForObjectDetection(config), calls


def clap():
    audio = dict(
        hidden_size=32,
        depths=[1, 1],
        num_attention_heads=[2, 2],
        patch_embeds_hidden_size=16,
        num_mel_bins=16,
        spec_size=64,
        window_size=4,
        patch_size=4,
        patch_stride=[4, 4],
        enable_fusion=True,
        projection_dim=16,
        num_hidden_layers=2,
    )
    text = dict(**_TEXT, projection_dim=16)
    config = hf.ClapConfig(text_config=text, audio_config=audio, projection_dim=16)
    calls = []
    for longer in ([True, False], [False, False], [True, True]):
        features = torch.randn(2, 4, 64, 16)
        calls.append(dict(input_ids=_ids(2, 7), input_features=features, is_longer=torch.tensor(longer)[:, None]))
    return hf.ClapModel(config), calls
