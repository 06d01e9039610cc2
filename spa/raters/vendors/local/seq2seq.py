"""Models with an encoder and a decoder (T5, Flan, T0): the prompt is read once, the answer written apart from it."""

from __future__ import annotations

from typing import Any

from spa.raters.local.model_folder import LoadedModel
from spa.raters.vendors.local.causal import GeneratedText, TokenScores
from spa.raters.vendors.local.local_prompt import LocalPrompt
from spa.raters.vendors.local.option_tree import OptionTree


class EncoderDecoderModel:
    """An encoder-decoder model. Its encoder reads each prompt as a whole, so that no beginning is shared."""

    strategy = "encoder"

    def __init__(self, loaded: LoadedModel) -> None:
        self._model = loaded.model
        self._device = loaded.device
        given = loaded.model.generation_config.decoder_start_token_id
        self._start: int = given if given is not None else loaded.model.config.decoder_start_token_id

    def score_options(self, prompt: LocalPrompt, tree: OptionTree) -> TokenScores:
        """Return the logarithms of the probabilities of every token that leads on to an option."""
        import torch

        places = tree.inner
        longest = max(map(len, places))
        # what fills up a short row comes after its last place, where the decoder does not look
        rows = [[self._start, *place, *[self._start] * (longest - len(place))] for place in places]
        with torch.inference_mode():
            encoder = self._model.get_encoder()
            read = encoder(input_ids=torch.tensor([prompt.tokens], device=self._device), return_dict=True)
            read.last_hidden_state = read.last_hidden_state.expand(len(rows), -1, -1)
            logits = self._model(
                encoder_outputs=read, decoder_input_ids=torch.tensor(rows, device=self._device), use_cache=False
            ).logits
        found = {}
        for number, place in enumerate(places):
            row = logits[number, len(place)].to("cpu", torch.float64).log_softmax(-1)
            found[place] = {token: float(row[token]) for token in tree.children(place)}
        return TokenScores(log_probabilities=found, reused=0)

    def generate(self, prompt: LocalPrompt, generation: Any) -> GeneratedText:
        """Return what the model writes after a prompt."""
        import torch

        ids = torch.tensor([prompt.tokens], device=self._device)
        whole = self._model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=generation)
        return GeneratedText(tokens=tuple(whole[0].tolist()[1:]), reused=0)
