"""Loading a checkpoint: our model is built on the meta device, then its parameters are replaced by the stored tensors."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from core.config.families import Config
from core.decoding import SpecialTokens, can_generate
from core.errors import InputError
from core.layers.positions import relative_position
from core.layers.transformer_stack import Stack
from core.models import is_encoder_decoder
from core.pretrained.checkpoint import Checkpoint, inspect_folder, make_checkpoint, map_weights
from core.pretrained.checkpoint_folder import CONFIG, GENERATION, TOKENIZER_FILES, CheckpointFolder
from core.pretrained.errors import PretrainedError
from core.pretrained.hub import (
    MAX_SMALL_FILE_BYTES,
    HubOptions,
    Progress,
    fetch_checkpoint,
    file_too_large,
    inspect_remote,
    is_hub_id,
)
from core.text.tokenizer import Tokenizer, load_tokenizer


def inspect(
    source: str | Path,
    *,
    root: str | Path | None = None,
    cache: str | Path | None = None,
    revision: str | None = None,
    offline: bool = False,
) -> Checkpoint:
    """A checkpoint's family, sizes and costs, without reading or downloading its weights.

    Arguments as of `load_pretrained`.
    """
    return _inspect(source, root, HubOptions(cache, revision, offline))


def load_pretrained(
    source: str | Path,
    *,
    root: str | Path | None = None,
    most_bytes: int | None = None,
    cache: str | Path | None = None,
    revision: str | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> tuple[nn.Module, Tokenizer | None]:
    """A Hugging Face checkpoint as a model of ours in float32, in eval mode, and its tokenizer if it has one.

    `source` is a folder, or a hub id such as "google/bert_uncased_L-2_H-128_A-2". With `root`, folders are relative to
    it and nothing outside is read. A model that would take more than `most_bytes` of memory is refused.

    For hub ids: `cache` is the hub's own folder unless given, `offline` uses nothing but the cache, and
    `progress(done, total)` is called with bytes; an exception it raises stops the download, which the next call resumes.

    Every problem is a `PretrainedError` that names it; those of the weights are found before anything is allocated.
    """
    options = HubOptions(cache, revision, offline, progress)
    if most_bytes is not None:
        _check_memory(_inspect(source, root, options), source, most_bytes)
    return load(inspect_folder(find_folder(source, root, options)))


def _inspect(source: str | Path, root: str | Path | None, options: HubOptions) -> Checkpoint:
    if _is_on_hub(source, root) and (remote := inspect_remote(str(source), options)):
        return make_checkpoint(remote.folder, remote.folder.json(CONFIG), remote.tensors, remote.download_bytes)
    return inspect_folder(find_folder(source, root, options))


def _check_memory(checkpoint: Checkpoint, source: str | Path, most_bytes: int) -> None:
    if checkpoint.memory_bytes > most_bytes:
        raise PretrainedError(
            "{source} takes {memory_bytes:,} bytes of memory; {most_bytes:,} are allowed.",
            source=source,
            memory_bytes=checkpoint.memory_bytes,
            most_bytes=most_bytes,
        )


def load(checkpoint: Checkpoint) -> tuple[nn.Module, Tokenizer | None]:
    """The model and the tokenizer of an inspected checkpoint."""
    tokenizer = read_tokenizer(checkpoint.folder) if checkpoint.has_tokenizer else None
    model = checkpoint.build_meta()
    assign_weights(model, map_weights(read_weights(checkpoint), checkpoint.key_map, model))
    if can_generate(model):
        special = read_special_tokens(checkpoint.folder, checkpoint.config, is_encoder_decoder(model))
        model.special_tokens = special  # pyrefly: ignore[bad-argument-type]
    return model.eval(), tokenizer


def find_folder(source: str | Path, root: str | Path | None, options: HubOptions) -> CheckpointFolder:
    """The folder of that name, or else the hub's copy of that id."""
    if _is_on_hub(source, root):
        return fetch_checkpoint(str(source), options)
    return CheckpointFolder(source, root)


def _is_on_hub(source: str | Path, root: str | Path | None) -> bool:
    """Is it a hub id, and no folder of that name exists?"""
    return is_hub_id(str(source)) and not (Path(root or ".") / source).exists()


def read_weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """The stored tensors, memory-mapped: nothing is read before it is used."""
    weights: dict[str, Tensor] = {}
    for file in dict.fromkeys(tensor.file for tensor in checkpoint.tensors.values()):
        try:
            with safe_open(checkpoint.folder.file(file), framework="pt") as opened:
                names = [name for name, tensor in checkpoint.tensors.items() if tensor.file == file]
                weights |= {name: opened.get_tensor(name) for name in names}
        except (SafetensorError, OSError) as error:
            raise PretrainedError("{file} cannot be read: {error}.", file=file, error=error) from error
    return weights


def assign_weights(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Replace the parameters of a model on the meta device by these tensors; shared parameters stay shared.

    Nothing is copied: float32 tensors stay mapped from their file (privately: training does not write to it), and
    GPT-2's transposed matrices are transposed views.
    """
    replacements: dict[int, nn.Parameter] = {}  # id of the meta parameter → the parameter in its place
    places = [(module, name) for module in model.modules() for name in module._parameters]
    paths = {module: path for path, module in model.named_modules()}
    before = {(module, name): module._parameters[name] for module, name in places}
    for (module, name), old in before.items():
        if old is None:
            continue
        if id(old) not in replacements:
            value = weights[f"{paths[module]}.{name}".lstrip(".")]
            replacements[id(old)] = nn.Parameter(value.float())
        module._parameters[name] = replacements[id(old)]
    for stack in model.modules():
        if isinstance(stack, Stack) and any(table.is_meta for table in stack.position.buffers()):
            stack.position = relative_position(stack.config, two_sided=not stack.causal)  # computed, not stored


def read_special_tokens(folder: CheckpointFolder, config: Config, encoder_decoder: bool) -> SpecialTokens:
    """bos, eos and pad from generation_config.json where it has them, else from config.json.

    Ids outside of the vocabulary are ignored. Missing ones are as in transformers: T5 begins with its padding and ends
    with 1, GPT-2 pads with its end.
    """
    settings = folder.json(CONFIG) | (folder.json(GENERATION) if folder.has(GENERATION) else {})

    def token_ids(*names: str) -> tuple[int, ...]:
        """The valid ids of the first of these settings that is there."""
        value = next((settings[name] for name in names if settings.get(name) is not None), [])
        ids = value if isinstance(value, list) else [value]
        return tuple(token for token in ids if type(token) is int and 0 <= token < config.vocab_size)

    default_eos = (1,) if encoder_decoder and "eos_token_id" not in settings else ()
    eos = token_ids("eos_token_id") or default_eos
    pad = next(iter(token_ids("pad_token_id") or (() if encoder_decoder else eos)), 0)
    bos = token_ids("decoder_start_token_id", "bos_token_id") if encoder_decoder else token_ids("bos_token_id")
    return SpecialTokens(next(iter(bos), pad), eos[0] if len(eos) == 1 else eos or None, pad)


def read_tokenizer(folder: CheckpointFolder) -> Tokenizer:
    for name in TOKENIZER_FILES:
        if folder.has(name) and folder.file(name).stat().st_size > MAX_SMALL_FILE_BYTES:
            raise file_too_large(name)
    try:
        return load_tokenizer(folder.path)
    except InputError as error:
        raise PretrainedError(error.text) from error
