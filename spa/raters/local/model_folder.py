"""A folder with a model, loaded with ``transformers``: what kind it is and what it can read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Literal

from spa.errors import PlatformError, how_to_install
from spa.records.raters import Rater

Kind = Literal["causal", "encoder-decoder", "vision"]
REQUIRED = ("torch", "transformers")
LIBRARIES = ("spa-eval", "torch", "transformers", "tokenizers", "gguf")
# What is raised for what cannot be loaded; each library reports a truncated file differently
LOADING_ERRORS = (OSError, ValueError, KeyError, ImportError, RuntimeError, EOFError, UnpicklingError)
ASKED_FOR = ("torchvision", "num2words")  # by the processors of a few models that see; torch and torchvision must fit
HASHED_WHOLE = 2**20  # bytes; of larger files only name and size


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model in memory with what cuts texts (and files) for it."""

    kind: Kind
    model: Any
    tokenizer: Any
    processor: Any  # of files and text; None where the model reads text only
    fingerprint: str | None  # of its files
    device: str
    dtype: str

    @property
    def longest(self) -> int | None:
        """Tokens that the model can read and write together; ``None`` where it says nothing."""
        config = self.model.config
        for part in (config, getattr(config, "text_config", None)):
            longest = getattr(part, "max_position_embeddings", None)
            if isinstance(longest, int) and longest > 0:
                return longest
        return None

    @property
    def ends(self) -> tuple[int, ...]:
        """The tokens that end a reply."""
        given = getattr(self.model.generation_config, "eos_token_id", None)
        ends = given if isinstance(given, list | tuple) else [given]
        return tuple(sorted({end for end in (*ends, self.tokenizer.eos_token_id) if isinstance(end, int)}))


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide about an answer."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def check_extra(rater: Rater) -> None:
    """Raise a ``PlatformError`` where the libraries for local models are not installed."""
    require(f"rater {rater.id!r}", "a model on this machine", *REQUIRED)


def require(place: str, purpose: str, *libraries: str) -> None:
    """Raise a ``PlatformError`` that names the libraries which are not installed."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise PlatformError(f"{place}: {purpose} needs {' and '.join(missing)}; {how_to_install('local')}")


def load_model(rater: Rater, base: Path, *, float64: bool = False) -> LoadedModel:
    """Load the model that a rater names: a folder, below ``base``, a GGUF file, or a name on the Hugging Face hub.

    ``float64`` lets it compute with 64 bits.
    """
    check_extra(rater)
    from safetensors import SafetensorError

    path = base / rater.model
    source: dict[str, Any] = {"pretrained_model_name_or_path": rater.model}
    if path.exists():
        source = {"pretrained_model_name_or_path": str(path), "local_files_only": True}
        gguf = path if path.suffix == ".gguf" else _only_gguf(path)
        if gguf is not None:
            require(f"rater {rater.id!r}", "a GGUF file", "gguf")
            source |= {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    try:
        return _load(source, fingerprint_of(path) if path.exists() else None, float64=float64)
    except (*LOADING_ERRORS, SafetensorError) as error:
        if (lacking := _lacking(str(error))) is not None:
            raise PlatformError(
                f"rater {rater.id!r}: the processor of model = {rater.model!r} needs {lacking}, which is not installed "
                f"with spa-eval; run `pip install {' '.join(ASKED_FOR)}`"
            ) from error
        if "torchvision::" in str(error):  # an operator that it registers with the torch that it was made for
            raise PlatformError(
                f"rater {rater.id!r}: the processor of model = {rater.model!r} needs a torchvision that fits torch "
                f"{version('torch')}, got {version('torchvision')}; install the two releases that belong together"
            ) from error
        problem = " ".join(str(error).split())[:200] or type(error).__name__
        raise PlatformError(
            f"rater {rater.id!r}: expected a folder with a model that transformers can load, or the name of one on the "
            f"Hugging Face hub, got model = {rater.model!r} ({problem})"
        ) from error


def _lacking(problem: str) -> str | None:
    """Return the library that a processor asks for and does not find; ``None`` where it says nothing of that."""
    return next((name for name in ASKED_FOR if name in problem.lower() and find_spec(name) is None), None)


def _load(source: Mapping[str, Any], fingerprint: str | None, *, float64: bool) -> LoadedModel:
    import torch
    import transformers

    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.float32 if device == "cpu" else "auto"  # 16 bits are slow on processors, and less exact
    if float64:
        dtype = torch.float64
    kind: Kind = "causal"
    processor = None
    if "gguf_file" in source:
        from transformers import modeling_gguf_pytorch_utils

        modeling_gguf_pytorch_utils.tqdm = transformers.utils.logging.tqdm  # heeds disable_progress_bar
        loader: Any = transformers.AutoModelForCausalLM
    else:
        config = transformers.AutoConfig.from_pretrained(**source)
        kind, loader = _kind_of(config, transformers)
    if kind == "vision":
        processor = transformers.AutoProcessor.from_pretrained(**source)
        tokenizer = processor.tokenizer
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    transformers.utils.logging.disable_progress_bar()  # the command has its own
    model, found = loader.from_pretrained(**source, dtype=dtype, output_loading_info=True)
    absent = sorted(found["missing_keys"])
    if absent:  # transformers draws them at random, with a warning only
        raise ValueError(f"{len(absent)} of its weights are not in its files, such as {absent[0]}; get it whole")
    model = model.to(device).eval()
    return LoadedModel(
        kind=kind,
        model=model,
        tokenizer=tokenizer,
        processor=processor,
        fingerprint=fingerprint,
        device=device,
        dtype=str(model.dtype).removeprefix("torch."),
    )


def _kind_of(config: Any, transformers: Any) -> tuple[Kind, Any]:
    auto = transformers.models.auto.modeling_auto
    kind = config.model_type
    if kind in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES and getattr(config, "vision_config", None) is not None:
        return "vision", transformers.AutoModelForImageTextToText
    multimodal = getattr(auto, "MODEL_FOR_MULTIMODAL_LM_MAPPING_NAMES", {})  # those that hear are in no other table
    if kind in multimodal and getattr(config, "audio_config", None) is not None:
        return "vision", transformers.AutoModelForMultimodalLM
    if getattr(config, "is_encoder_decoder", False):
        return "encoder-decoder", transformers.AutoModelForSeq2SeqLM
    if kind not in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise ValueError(f"a model of type {kind!r} writes no text")
    if kind in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES and not getattr(config, "is_decoder", False):
        raise ValueError(f"a model of type {kind!r} is an encoder, which writes no text")
    return "causal", transformers.AutoModelForCausalLM


def _only_gguf(path: Path) -> Path | None:
    """Return the GGUF file of a folder that holds nothing else to load."""
    if not path.is_dir() or (path / "config.json").exists():
        return None
    files = sorted(path.glob("*.gguf"))
    return files[0] if len(files) == 1 else None


def fingerprint_of(path: Path) -> str:
    """Return a hash of a model's files: small ones by their content, large ones by name and size."""
    digest = sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if file.is_file():
            size = file.stat().st_size
            content = sha256(file.read_bytes()).hexdigest() if size <= HASHED_WHOLE else ""
            digest.update(json.dumps([file.name, size, content]).encode())
    return digest.hexdigest()[:16]


def choose_threads() -> int:
    """Return how many threads to compute with: the processor's cores, less those at work already.

    More threads than free cores make a model many times slower, since each waits for all the others.
    ``OMP_NUM_THREADS`` overrides it.
    """
    import torch

    set_by_hand = os.environ.get("OMP_NUM_THREADS", "")
    if set_by_hand.isdecimal() and int(set_by_hand) > 0:
        return int(set_by_hand)
    cores: int = torch.get_num_threads()  # physical ones
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, cores - busy)
