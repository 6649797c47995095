"""From a checkpoint to a model of ours: built without memory, then given the stored tensors."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from core.decoding import SpecialTokens, writes
from core.errors import InputError
from core.layers.positions import relative_position
from core.layers.transformer_stack import TransformerStack
from core.models import is_encoder_decoder
from core.pretrained.checkpoint import Checkpoint, look, place, understand
from core.pretrained.errors import PretrainedError
from core.pretrained.folder import CONFIG, GENERATION, Folder
from core.pretrained.hub import MOST_SMALL, Progress, Where, is_hub_id, look_ahead, snapshot, too_large
from core.text.tokenizer import Tokenizer, load_tokenizer

TOKENIZER_PARTS = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt", "spiece.model")


def inspect(
    source: str | Path,
    *,
    root: str | Path | None = None,
    cache: str | Path | None = None,
    revision: str | None = None,
    offline: bool = False,
) -> Checkpoint:
    """What a checkpoint is and costs; nothing of its weights is read, or fetched. Arguments as of `load_pretrained`."""
    return _inspect(source, root, Where(cache, revision, offline))


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

    `source` is a folder, or a hub id such as "google/bert_uncased_L-2_H-128_A-2". With `root`, folders are looked for
    below it and nothing outside is read. A model that would take more than `most_bytes` of memory is refused.

    For hub ids: `cache` is the hub's own folder unless given, `offline` looks nowhere else, and `progress(done, total)`
    hears how many bytes are there; what it raises stops the fetching, which goes on from there the next time.

    Whatever is wrong is a `PretrainedError` that names it; with the weights, before anything is allocated.
    """
    where = Where(cache, revision, offline, progress)
    if most_bytes is not None:
        _check_memory(_inspect(source, root, where), source, most_bytes)
    return load(look(find(source, root, where)))


def _inspect(source: str | Path, root: str | Path | None, where: Where) -> Checkpoint:
    if _is_on_hub(source, root) and (ahead := look_ahead(str(source), where)):
        return understand(ahead.folder, ahead.folder.json(CONFIG), ahead.stored, ahead.bytes)
    return look(find(source, root, where))


def _check_memory(checkpoint: Checkpoint, source: str | Path, most_bytes: int) -> None:
    if checkpoint.memory_bytes > most_bytes:
        raise PretrainedError(
            "{source} takes {memory_bytes:,} bytes of memory; {most_bytes:,} are allowed.",
            source=source,
            memory_bytes=checkpoint.memory_bytes,
            most_bytes=most_bytes,
        )


def load(checkpoint: Checkpoint) -> tuple[nn.Module, Tokenizer | None]:
    """The model and the tokenizer of a checkpoint that has been looked at."""
    tokenizer = read_tokenizer(checkpoint.folder) if checkpoint.has_tokenizer else None
    model = checkpoint.on_meta()
    fill(model, place(read_weights(checkpoint), checkpoint.key_map, model))
    if writes(model):
        model.signs = read_signs(checkpoint.folder, model)
    return model.eval(), tokenizer


def find(source: str | Path, root: str | Path | None, where: Where) -> Folder:
    """The folder of that name, or else the one that the hub's copy of that name is in."""
    if _is_on_hub(source, root):
        return snapshot(str(source), where)
    return Folder(source, root)


def _is_on_hub(source: str | Path, root: str | Path | None) -> bool:
    """A hub id that is not a folder here as well."""
    return is_hub_id(str(source)) and not (Path(root or ".") / source).exists()


def read_weights(checkpoint: Checkpoint) -> dict[str, Tensor]:
    """Mapped from the files as they are stored: nothing is read before it is used."""
    found: dict[str, Tensor] = {}
    for file in dict.fromkeys(one.file for one in checkpoint.stored.values()):
        try:
            with safe_open(checkpoint.folder.file(file), framework="pt") as opened:
                names = [name for name, one in checkpoint.stored.items() if one.file == file]
                found |= {name: opened.get_tensor(name) for name in names}
        except (SafetensorError, OSError) as error:
            raise PretrainedError("{file} cannot be read: {error}.", file=file, error=error) from error
    return found


def fill(model: nn.Module, weights: dict[str, Tensor]) -> None:
    """Put tensors in the places of a model that was built on the meta device; what it uses twice stays one weight.

    They are not copied: those in float32 stay mapped from their file (privately: training does not write to it), and
    GPT-2's, stored the other way round, are seen turned.
    """
    made: dict[int, nn.Parameter] = {}  # by the identity of what was in the place
    places = [(module, name) for module in model.modules() for name in module._parameters]
    paths = {module: path for path, module in model.named_modules()}
    before = {(module, name): module._parameters[name] for module, name in places}
    for (module, name), old in before.items():
        if old is None:
            continue
        if id(old) not in made:
            value = weights[f"{paths[module]}.{name}".lstrip(".")]
            made[id(old)] = nn.Parameter(value.float())
        module._parameters[name] = made[id(old)]
    for stack in model.modules():
        if isinstance(stack, TransformerStack) and any(table.is_meta for table in stack.position.buffers()):
            stack.position = relative_position(stack.config, two_sided=not stack.causal)  # computed, not stored


def read_signs(folder: Folder, model: nn.Module) -> SpecialTokens:
    """With what it begins and ends what it writes; the file that is about writing is asked first.

    Ids that are none of the model's stand for nothing. What nobody says is as transformers has it: T5 begins with
    padding and ends with 1, and GPT-2 fills up with its end.
    """
    told = folder.json(CONFIG) | (folder.json(GENERATION) if folder.has(GENERATION) else {})

    def known(*names: str) -> tuple[int, ...]:
        listed = next((told[name] for name in names if told.get(name) is not None), [])
        some = listed if isinstance(listed, list) else [listed]
        return tuple(one for one in some if type(one) is int and 0 <= one < model.config.vocab_size)

    usual_ends = (1,) if is_encoder_decoder(model) and "eos_token_id" not in told else ()
    ends = known("eos_token_id") or usual_ends
    pad = next(iter(known("pad_token_id") or (() if is_encoder_decoder(model) else ends)), 0)
    begin = known("decoder_start_token_id", "bos_token_id") if is_encoder_decoder(model) else known("bos_token_id")
    return SpecialTokens(next(iter(begin), pad), ends[0] if len(ends) == 1 else ends or None, pad)


def read_tokenizer(folder: Folder) -> Tokenizer:
    for name in TOKENIZER_PARTS:
        if folder.has(name) and folder.file(name).stat().st_size > MOST_SMALL:
            raise too_large(name)
    try:
        return load_tokenizer(folder.path)
    except InputError as error:
        raise PretrainedError(error.text) from error
