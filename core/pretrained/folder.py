"""The files of a checkpoint, read with suspicion: a folder may come from anybody.

A file must be a plain one below the root, JSON must be small, and weights must be safetensors: pickled ones are
programs, and are never opened.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from core.pretrained.errors import PretrainedError

CONFIG, GENERATION = "config.json", "generation_config.json"
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
MOST_JSON = 4 * 1024**2  # bytes
MOST_SHARDS = 1_000
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack", ".ot")


class Folder:
    def __init__(self, path: str | Path, root: str | Path | None = None):
        """`root`: nothing outside of it is read, whatever a path or a link says; a relative path begins there."""
        self.root = None if root is None else Path(root).resolve()
        given = Path(path) if self.root is None else self.root / path
        self.path = self._resolved(given)
        if not os.path.isdir(self.path):  # which says no to a name too long
            told = str(path)[:200]
            raise PretrainedError(f"There is no folder {told}.", f"没有文件夹 {told}。")

    def _resolved(self, path: Path) -> Path:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name with a null in it
            told, why = str(path)[:200], str(error)[:100]
            raise PretrainedError(f"{told} is no path: {why}.", f"{told} 不是有效路径：{why}。") from error
        if self.root is not None and not real.is_relative_to(self.root):
            raise PretrainedError(
                f"{path.name} lies outside of {self.root}, where checkpoints may be read from.",
                f"{path.name} 位于可读取预训练模型的 {self.root} 之外。",
            )
        return real

    def has(self, name: str) -> bool:
        return (self.path / name).exists()

    def file(self, name: str) -> Path:
        """A plain file of this folder, links followed."""
        if Path(name).name != name or "\\" in name or "\0" in name:
            raise PretrainedError(
                f"{name!r} is no plain file name: a checkpoint's files lie in its own folder.",
                f"{name!r} 不是普通文件名：预训练模型的文件须在其自身文件夹内。",
            )
        real = self._resolved(self.path / name)
        if not real.is_file():
            raise PretrainedError(f"There is no file {name} in {self.path}.", f"{self.path} 中没有文件 {name}。")
        return real

    def json(self, name: str) -> dict[str, Any]:
        path = self.file(name)
        with path.open("rb") as file:
            text = file.read(MOST_JSON + 1)
        if len(text) > MOST_JSON:
            raise PretrainedError(
                f"{name} has more than {MOST_JSON:,} bytes: that is no {name} of a model.",
                f"{name} 超过 {MOST_JSON:,} 字节：这不是模型的 {name}。",
            )
        return parse(text, name)

    def weight_files(self) -> dict[str, list[str] | None]:
        """File name → the weights that the index promises of it; None if there is no index."""
        if self.has(WEIGHTS):
            return {WEIGHTS: None}
        if not self.has(INDEX):
            raise self._no_weights()
        places = self.json(INDEX).get("weight_map")
        if not isinstance(places, dict) or not all(isinstance(place, str) for place in places.values()):
            raise PretrainedError(
                f"{INDEX} has no weight_map that says which weight is in which file.",
                f"{INDEX} 中没有说明权重位于哪个文件的 weight_map。",
            )
        found: dict[str, list[str] | None] = {}
        for weight, place in places.items():
            if not place.endswith(".safetensors"):
                raise PretrainedError(
                    f"{INDEX} says that {weight} is in {place!r}, which is no safetensors file.",
                    f"{INDEX} 称 {weight} 在 {place!r} 中，而它不是 safetensors 文件。",
                )
            found.setdefault(place, []).append(weight)
        if not found or len(found) > MOST_SHARDS:
            raise PretrainedError(
                f"{INDEX} lists {len(found)} files; there must be 1 to {MOST_SHARDS}.",
                f"{INDEX} 列出了 {len(found)} 个文件；须为 1 到 {MOST_SHARDS} 个。",
            )
        return found

    def _no_weights(self) -> PretrainedError:
        names = sorted(path.name for path in self.path.iterdir())
        pickled = next((name for name in names if name.endswith(PICKLED)), None)
        return no_safetensors(pickled, str(self.path))


def no_safetensors(pickled: str | None, where: str) -> PretrainedError:
    if pickled is None:
        return PretrainedError(f"There is no {WEIGHTS} in {where}.", f"{where} 中没有 {WEIGHTS}。")
    return PretrainedError(
        f"{where} has {pickled} but no {WEIGHTS}. Opening pickled weights can run any program, so they are not opened "
        "here. If you trust them, load them with transformers and write them anew: "
        "model.save_pretrained(folder) makes a safetensors file.",
        f"{where} 中有 {pickled}，但没有 {WEIGHTS}。打开 pickle 权重可能运行任意程序，因此这里不会打开。"
        "若信任它们，请用 transformers 载入后重新保存：model.save_pretrained(folder) 会写出 safetensors 文件。",
    )


def parse(text: bytes, name: str) -> dict[str, Any]:
    """JSON as a dictionary in which no key is there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))
            raise PretrainedError(f"{name} has {twice!r} twice.", f"{name} 中 {twice!r} 出现了两次。")
        return found

    try:
        found = json.loads(text, object_pairs_hook=once)
    except PretrainedError:
        raise
    except (ValueError, RecursionError) as error:
        why = str(error)[:120]
        raise PretrainedError(f"{name} is not JSON: {why}.", f"{name} 不是 JSON：{why}。") from error
    if not isinstance(found, dict):
        raise PretrainedError(f"{name} holds no JSON object.", f"{name} 不是 JSON 对象。")
    return found
