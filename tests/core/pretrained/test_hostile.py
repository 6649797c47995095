"""Checkpoints that are broken, or meant to break something: each is refused with a sentence, and nothing is loaded."""

from __future__ import annotations

import json
import os
import pickle
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import core
from core import PretrainedError
from core.pretrained import inspect
from core.pretrained.folder import MOST_JSON, parse
from core.pretrained.headers import MOST_HEADER
from tests.core.pretrained.tiny import CHECKPOINTS
from tests.words import chinese

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> dict[str, Path]:
    folders = {}
    for name in ("BertForMaskedLM", "GPT2LMHeadModel", "t5 v1.0"):
        folders[name] = tmp_path_factory.mktemp("sound")
        CHECKPOINTS[name]().save_pretrained(folders[name])
    return folders


@pytest.fixture
def bert(sound, tmp_path) -> Path:
    return copied(sound["BertForMaskedLM"], tmp_path / "bert")


def copied(source: Path, target: Path) -> Path:
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def configured(**changes) -> Damage:
    def damage(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(config))

    return damage


def config_text(text: bytes) -> Damage:
    return lambda folder: (folder / "config.json").write_bytes(text) and None


def weights(change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        save_file(change(load_file(path)), path)

    return damage


def header(change: Callable[[dict], object]) -> Damage:
    """Another header over the same numbers."""

    def damage(folder: Path) -> None:
        raw = (folder / "model.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", raw[:8])
        told = json.loads(raw[8 : 8 + length])
        text = change(told)
        text = json.dumps(told).encode() if not isinstance(text, bytes) else text
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])

    return damage


def cut(share: float) -> Damage:
    def damage(folder: Path) -> None:
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    return damage


def raw(data: bytes) -> Damage:
    return lambda folder: (folder / "model.safetensors").write_bytes(data) and None


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({"weight": [0.0]}))


def indexed(places: dict) -> Damage:
    def damage(folder: Path) -> None:
        (folder / "model.safetensors").rename(folder / "model-00001-of-00001.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps(places))

    return damage


TABLE = "bert.embeddings.word_embeddings.weight"
QUERY = "bert.encoder.layer.0.attention.self.query.weight"
ONE = "model-00001-of-00001.safetensors"
FORGED: dict[str, tuple[Damage, str]] = {
    "empty file": (raw(b""), r"model\.safetensors is cut short or no safetensors file"),
    "seven bytes": (raw(b"1234567"), r"cut short or no safetensors file"),
    "text": (raw(b"this is no safetensors file at all, just some text"), r"cut short or no safetensors file"),
    "cut in the header": (cut(0.002), r"cut short or no safetensors file"),
    "cut in the weights": (cut(0.7), r"cut short or too long: its weights need [\d,]+ bytes, and there are"),
    "one byte short": (lambda f: raw((f / "model.safetensors").read_bytes()[:-1])(f), r"cut short or too long"),
    "bytes behind the end": (lambda f: raw((f / "model.safetensors").read_bytes() + b"x")(f), r"cut short or too long"),
    "header of 10 GB": (raw(struct.pack("<Q", 10**10) + b"{}"), r"its header would have 10,000,000,000 bytes"),
    "header of 2⁶⁴ bytes": (raw(struct.pack("<Q", 2**64 - 1) + b"{}"), r"its header would have 18,446,744,073,709,551,615"),
    "weight of 10 GB": (
        header(lambda told: told[QUERY].update(shape=[50_000, 50_000], data_offsets=[0, 10**10])),
        rf"{QUERY} in model\.safetensors (should take|begins)|cut short",
    ),
    "shape of 10 GB": (header(lambda told: told[QUERY].update(shape=[50_000, 50_000])), rf"{QUERY} in .* should take 10,000,000,000 bytes"),
    "overlapping weights": (
        header(lambda told: told[QUERY].update(data_offsets=told["bert.encoder.layer.1.attention.self.query.weight"]["data_offsets"])),
        r"begins at byte [\d,]+, but [\d,]+ comes next",
    ),
    "header is no JSON": (header(lambda told: b"{" * 50), r"model\.safetensors is not JSON"),
    "header is deeply nested": (header(lambda told: b"[" * 100_000), r"model\.safetensors is not JSON"),
    "header is a list": (header(lambda told: b"[1, 2]"), r"holds no JSON object"),
    "header with a key twice": (header(lambda told: b'{"a": 1, "a": 2}'), r"model\.safetensors has 'a' twice"),
    "shape of 400 axes": (header(lambda told: told[QUERY].update(shape=[2**47] * 400)), rf"does not say clearly what {QUERY} is"),
    "negative shape": (header(lambda told: told[QUERY].update(shape=[-32, -32])), rf"does not say clearly what {QUERY} is"),
    "fractional shape": (header(lambda told: told[QUERY].update(shape=[32.0, 32])), rf"does not say clearly what {QUERY} is"),
    "true as a size": (header(lambda told: told[QUERY].update(shape=[True, 1024])), rf"does not say clearly what {QUERY} is"),
    "no such dtype": (header(lambda told: told[QUERY].update(dtype="F128")), rf"does not say clearly what {QUERY} is"),
    "weight of no shape": (header(lambda told: told[QUERY].pop("shape")), rf"does not say clearly what {QUERY} is"),
    "wrong shape": (weights(lambda w: w | {QUERY: torch.zeros(16, 64)}), rf"{QUERY} gives blocks\.0\.attn\.q_proj\.weight the shape \(16, 64\); it has \(32, 32\)"),
    "missing": (weights(lambda w: {k: v for k, v in w.items() if k != QUERY}), rf"Nothing fills blocks\.0\.attn\.q_proj\.weight \(32, 32\): {QUERY} is missing"),
    "unknown": (weights(lambda w: w | {"bert.adapter.weight": torch.zeros(2)}), r"bert\.adapter\.weight is in no line of the map"),
    "a layer too many": (weights(lambda w: w | {QUERY.replace("0", "7"): torch.zeros(32, 32)}), r"layer\.7\.\S+ belongs to blocks\.7\.\S+, which this model does not have"),
    "integers": (weights(lambda w: w | {QUERY: torch.zeros(32, 32, dtype=torch.int8)}), rf"{QUERY} is stored as I8; weights must be F32, F16 or BF16"),
    "float64": (weights(lambda w: w | {QUERY: torch.zeros(32, 32, dtype=torch.float64)}), rf"{QUERY} is stored as F64"),
    "tied and different": (weights(lambda w: w | {"cls.predictions.decoder.weight": torch.ones(40, 32)}), r"should be the same weight, but differ"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), r"There is no model\.safetensors in"),
    "pickle": (pickled, r"pytorch_model\.bin but no model\.safetensors.* can run any program.*save_pretrained\(folder\)"),
    "no config": (lambda f: (f / "config.json").unlink(), r"There is no file config\.json"),
    "empty config": (config_text(b""), r"config\.json is not JSON"),
    "config is no JSON": (config_text(b"model: bert"), r"config\.json is not JSON"),
    "config is binary": (config_text(bytes(range(256))), r"config\.json is not JSON"),
    "config is a list": (config_text(b"[]"), r"config\.json holds no JSON object"),
    "config is deeply nested": (config_text(b'{"a":' * 100_000), r"config\.json is not JSON"),
    "config is huge": (config_text(b" " * (MOST_JSON + 2)), r"config\.json has more than"),
    "config says a key twice": (config_text(b'{"model_type": "bert", "model_type": "gpt2"}'), r"config\.json has 'model_type' twice"),
    "10⁹ layers": (configured(num_hidden_layers=10**9), r"n_layers = 1000000000: it is out of range"),
    "10⁹⁹ layers": (configured(num_hidden_layers=10**99), r"config\.json says num_hidden_layers = 1000.*must be a whole number"),
    "no layers": (configured(num_hidden_layers=0), r"n_layers = 0: it is out of range"),
    "negative width": (configured(hidden_size=-32), r"hidden_size = -32; it must be a whole number"),
    "fractional width": (configured(hidden_size=32.5), r"hidden_size = 32\.5; it must be a whole number"),
    "width NaN": (configured(hidden_size=float("nan")), r"hidden_size = nan; it must be a whole number"),
    "width as text": (configured(hidden_size="32"), r"hidden_size = '32'; it must be a whole number"),
    "width as list": (configured(hidden_size=[32]), r"hidden_size = \[32\]; it must be a whole number"),
    "true as width": (configured(hidden_size=True), r"hidden_size = True; it must be a whole number"),
    "no width": (configured(hidden_size=None), r"config\.json does not say hidden_size"),
    "other width": (configured(hidden_size=64), r"gives \S+ the shape"),
    "heads that do not fit": (configured(num_attention_heads=5), r"n_heads = 5: d_model = 32 cannot be split"),
    "epsilon NaN": (configured(layer_norm_eps=float("nan")), r"layer_norm_eps = nan; it must be a number"),
    "epsilon infinite": (configured(layer_norm_eps=float("inf")), r"layer_norm_eps = inf; it must be a number"),
    "vocabulary of 10⁶": (configured(vocab_size=10**6), r"gives token_embedding\.weight the shape \(40, 32\); it has \(1000000, 32\)"),
    "unknown model": (configured(model_type="gpt_neox"), r"model_type = 'gpt_neox'; known are: bert, roberta"),
    "model type as number": (configured(model_type=7), r"model_type = 7; it must be a text"),
    "head we cannot hold": (configured(architectures=["BertForMultipleChoice"]), r"BertForMultipleChoice, whose head models here cannot hold"),
    "architectures as text": (configured(architectures="BertModel"), r"architectures = 'BertModel'; it must be a list"),
    "head that is not there": (configured(architectures=["BertForQuestionAnswering"]), r"cls\.predictions\.\S+ belongs to a head, but config\.json says BertForQuestionAnswering"),
    "unknown activation": (configured(hidden_act="mish"), r"hidden_act = 'mish'; it must be one of relu"),
    "relative positions": (configured(position_embedding_type="relative_key"), r"position_embedding_type = 'relative_key'"),
    "a decoder": (configured(is_decoder=True), r"is_decoder = True: models here do not compute that"),
    "index without map": (indexed({}), r"has no weight_map"),
    "index of nothing": (indexed({"weight_map": {}}), r"lists 0 files"),
    "index with numbers": (indexed({"weight_map": {TABLE: 3}}), r"has no weight_map"),
    "index to a pickle": (indexed({"weight_map": {TABLE: "pytorch_model.bin"}}), r"'pytorch_model\.bin', which is no safetensors file"),
    "index out of the folder": (indexed({"weight_map": {TABLE: "../other/model.safetensors"}}), r"'\.\./other/model\.safetensors' is no plain file name"),
    "index to an absolute path": (indexed({"weight_map": {TABLE: "/etc/x.safetensors"}}), r"'/etc/x\.safetensors' is no plain file name"),
    "index to a missing file": (indexed({"weight_map": {TABLE: "model-2.safetensors"}}), r"There is no file model-2\.safetensors"),
    "index promises too much": (indexed({"weight_map": {"bert.nowhere": ONE}}), r"index says that bert\.nowhere is in model-00001-of-00001\.safetensors, but it is not"),
    "index leaves out": (indexed({"weight_map": {TABLE: ONE}}), r"is not in the index"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_refused_with_a_sentence(name, bert):
    damage, sentence = FORGED[name]
    core.load_pretrained(bert)  # sound before
    damage(bert)
    with pytest.raises(PretrainedError, match=sentence) as refused:
        core.load_pretrained(bert)
    assert chinese(refused.value) != str(refused.value) and len(str(refused.value)) < 600
    if name != "tied and different":  # the one thing that headers do not tell
        with pytest.raises(PretrainedError, match=sentence):
            inspect(bert)


@pytest.mark.parametrize(
    ("name", "damage", "sentence"),
    [
        ("GPT2LMHeadModel", configured(scale_attn_weights=False), r"scale_attn_weights = False"),
        (
            "GPT2LMHeadModel",
            configured(scale_attn_by_inverse_layer_idx=True),
            r"scale_attn_by_inverse_layer_idx = True",
        ),
        ("GPT2LMHeadModel", configured(tie_word_embeddings=False), r"lm_head\.weight is missing"),
        ("GPT2LMHeadModel", configured(architectures=["GPT2DoubleHeadsModel"]), r"GPT2DoubleHeadsModel, whose head"),
        ("GPT2LMHeadModel", configured(n_layer=2), r"h\.2\.\S+ belongs to blocks\.2"),
        ("t5 v1.0", configured(feed_forward_proj="gated-mish"), r"feed_forward_proj = 'gated-mish'"),
        ("t5 v1.0", configured(feed_forward_proj="gated-gelu"), r"is in no line of the map"),
        ("t5 v1.0", configured(architectures=["T5EncoderModel"]), r"T5EncoderModel, whose head"),
        ("t5 v1.0", configured(relative_attention_num_buckets=6), r"n_buckets = 6"),
    ],
)
def test_other_families(name, damage, sentence, sound, tmp_path):
    folder = copied(sound[name], tmp_path / "copy")
    damage(folder)
    with pytest.raises(PretrainedError, match=sentence):
        inspect(folder)


class TestRoot:
    """Nothing outside of the root is read, whatever a path or a link says."""

    def test_below_the_root(self, bert, tmp_path):
        for path in ("bert", "./bert", "bert/../bert", bert):
            assert core.load_pretrained(path, root=tmp_path)[0].config.n_layers == 3

    @pytest.mark.parametrize("path", ["../bert", "inner/../../bert", "/etc", "..", "~"])
    def test_paths_that_lead_out(self, path, bert, tmp_path):
        root = tmp_path / "root"
        root.mkdir()
        with pytest.raises(PretrainedError, match=r"lies outside of|There is no folder"):
            core.load_pretrained(path, root=root)
        with pytest.raises(PretrainedError, match=r"lies outside of"):
            core.load_pretrained(str(bert), root=root)

    def test_a_link_to_a_folder_outside(self, bert, tmp_path):
        root = tmp_path / "root"
        root.mkdir()
        (root / "inside").symlink_to(bert)
        with pytest.raises(PretrainedError, match=r"inside lies outside of"):
            core.load_pretrained("inside", root=root)

    @pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "vocab.txt"])
    def test_a_link_to_a_file_outside(self, name, bert, tmp_path):
        root, secret = tmp_path / "root", tmp_path / "secret"
        root.mkdir()
        inside = copied(bert, root / "inside")
        secret.write_bytes((bert / name).read_bytes() if (bert / name).exists() else b"{}")
        (inside / name).unlink(missing_ok=True)
        (inside / name).symlink_to(secret)
        with pytest.raises(PretrainedError, match=rf"{name} lies outside of"):
            core.load_pretrained("inside", root=root)

    def test_a_link_that_goes_in_circles(self, bert, tmp_path):
        (bert / "config.json").unlink()
        (bert / "config.json").symlink_to(bert / "config.json")
        with pytest.raises(PretrainedError, match=r"config\.json"):
            core.load_pretrained(bert)

    def test_what_is_no_file(self, bert):
        (bert / "model.safetensors").unlink()
        os.mkfifo(bert / "model.safetensors")  # reading it would wait for ever
        with pytest.raises(PretrainedError, match=r"There is no file model\.safetensors"):
            core.load_pretrained(bert)

    @pytest.mark.parametrize("path", ["", "nul\0l", "a" * 5_000, "no/such/folder/anywhere"])
    def test_no_path_at_all(self, path, tmp_path):
        with pytest.raises(PretrainedError):
            core.load_pretrained(path, root=tmp_path / "root", offline=True)


def test_more_memory_than_allowed(bert):
    need = inspect(bert).memory_bytes
    with pytest.raises(PretrainedError, match=rf"takes {need:,} bytes of memory; {need - 1:,} are allowed"):
        core.load_pretrained(bert, most_bytes=need - 1)
    core.load_pretrained(bert, most_bytes=need)


MEMORY = """
import sys, tracemalloc
import core
from core.pretrained import inspect
def status(what):
    return int(next(line for line in open("/proc/self/status") if line.startswith(what)).split()[1])
sound, *forged = sys.argv[1:]
inspect(sound)  # whatever is imported or kept on first use
try:
    inspect(sound + "/none")
except core.PretrainedError:
    pass
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
for folder in forged:
    try:
        core.load_pretrained(folder)
    except core.PretrainedError as error:
        print(status("VmHWM") - before, error)
    else:
        sys.exit("not refused: " + folder)
"""


def test_memory_stays_flat(sound, tmp_path):
    """All that is forged, one after another in one process: its peak grows by less than the largest header allowed."""
    folders = []
    for i, (damage, _) in enumerate(FORGED.values()):
        folders.append(copied(sound["BertForMaskedLM"], tmp_path / str(i)))
        damage(folders[-1])
    large = copied(sound["BertForMaskedLM"], tmp_path / "sparse")  # 10 GB that are really there, but no checkpoint
    with (large / "model.safetensors").open("r+b") as file:
        file.write(struct.pack("<Q", 10**10))
        file.truncate(10**10 + 8)
    command = [sys.executable, "-c", MEMORY, str(sound["BertForMaskedLM"]), *map(str, [*folders, large])]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=250, env={**os.environ, "HF_HUB_OFFLINE": "1"}
    )
    assert done.returncode == 0, done.stderr
    grown = [int(line.split()[0]) for line in done.stdout.splitlines()]
    assert len(grown) == len(folders) + 1
    assert max(grown) * 1024 < MOST_HEADER + 8 * 1024**2, done.stdout


def test_a_key_that_is_there_twice_is_found_in_one_pass():
    many = b"{" + b"".join(b'"k%d":0,' % i for i in range(200_000))
    began = time.process_time()
    with pytest.raises(PretrainedError, match="has 'k199999' twice"):
        parse(many + b'"k199999":1}', "config.json")
    assert time.process_time() - began < 10, "comparing every key with every other takes minutes"
