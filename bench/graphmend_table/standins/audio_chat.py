"""A stand-in for a chat model that takes audio: tokens between two marks stand for features of the audio that comes along.

Its calls are those of a chat without audio.
"""

import torch
from torch import nn

START, END = 60, 61


class AudioEncoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = nn.Conv1d(8, width, 3, padding=1)

    def forward(self, mel, lengths):
        return [row[:count] for row, count in zip(torch.tanh(self.conv(mel)).transpose(1, 2), lengths)]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(width), nn.Linear(width, width)

    def forward(self, hidden):
        return hidden + torch.tanh(self.mix(self.norm(hidden))).cumsum(1)


class AudioChat(nn.Module):
    def __init__(self, width=32, vocabulary=64, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.audio = AudioEncoder(width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids, past_key_values=None, audio_info=None):
        if past_key_values is None and torch.any(input_ids == START):
            starts = torch.where(input_ids == START)
            ends = torch.where(input_ids == END)
            places = torch.stack((starts[0], starts[1], ends[1]), dim=1)
            if isinstance(audio_info, dict):
                audios = self.audio(audio_info["mel"], audio_info["lengths"])
            else:
                audios = self.audio(
                    torch.cat([one["mel"] for one in audio_info]),
                    [count for one in audio_info for count in one["lengths"]],
                )
        else:
            places = audios = None
        hidden = self.embed(input_ids)
        if audios is not None:
            hidden = hidden.clone()
            for number, (row, start, end) in enumerate(places):
                hidden[row, start : end + 1] = audios[number]
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(hidden)


def graphmend_entry():
    return AudioChat(), [(torch.randint(0, 60, (2, 10)),), (torch.randint(0, 60, (2, 7)),)]
