"""The arrays sent to the page equal what the model computes."""

import shutil
import subprocess
import weakref

import numpy as np
import pytest
import torch

import core
from app import payload
from app.main import STATIC
from app.service import attention_stack, snapshot_arrays
from app.service.attention_stack import EXACT_BYTES, GRID_BYTES, allocate_weights, pool, store_weights, tile_side
from app.service.inputs import MAX_INPUT_TOKENS, held_out_input, input_from_text, max_tokens
from app.service.runs import shipped
from app.service.snapshot_arrays import collect_arrays
from core import InputError
from core.analysis import measures
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.optimisers import load_parameters
from core.training.snapshots import Snapshot
from tests.app.sent_arrays import sent_arrays
from tests.words import chinese


def test_payload_comes_back_as_it_went():
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([[1], [255]], np.uint8)}
    header, back = payload.unpack(payload.pack({"text": "中文 </script>"}, arrays))
    assert header == {"text": "中文 </script>"}
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array)
        assert back[name].dtype == array.dtype


@pytest.mark.parametrize("name", shipped.names())
def test_every_snapshot_shows_what_its_weights_compute(name):
    run = shipped.load(name).run
    model_input = held_out_input(run, 2)
    header, arrays = sent_arrays(collect_arrays(run, model_input))
    assert header["steps"] == [snapshot.step for snapshot in run.snapshots]
    for index in (0, len(run.snapshots) // 2, -1):
        load_parameters(run.model, run.snapshots[index].weights)
        with torch.no_grad(), core.capture(run.model.eval()) as tape:
            run.model(*model_input.batch.inputs)
        for group in header["heads"]:
            for layer, point in enumerate(group["points"]):
                np.testing.assert_allclose(
                    arrays[f"{group['name']}.weights"][index, layer], tape[point][0], atol=1e-6
                )
        for layer in header["recurrent_layers"]:
            for point in layer["points"]:
                sent = arrays[f"{layer['name']}.{point}"][index]
                np.testing.assert_allclose(sent, tape[f"{layer['name']}.{point}"][0], atol=1e-6)
    assert header["heads"] or header["recurrent_layers"]
    for group in header["heads"]:
        rows, columns = (len(header["axes"][group[axis]]) for axis in ("queries", "keys"))
        assert arrays[f"{group['name']}.weights"].shape[-2:] == (rows, columns)


@pytest.mark.parametrize("name", shipped.names())
def test_a_held_out_problem_can_be_typed_again(name):
    run = shipped.load(name).run
    held_out = held_out_input(run, 5)
    again = input_from_text(run, held_out.text)
    torch.testing.assert_close(again.batch.inputs[0], held_out.batch.inputs[0])
    assert again.alignment == held_out.alignment or run.recipe.family == "gpt"


@pytest.mark.parametrize("name", shipped.names())
def test_unreadable_inputs_are_refused_with_a_sentence_in_both_languages(name):
    run = shipped.load(name).run
    hostile = ["", "   ", "</script><img src=x onerror=alert(1)>", "🙂 🙂", "שלום עולם", "\0", "x" * 10_000]
    for text in hostile:
        if text.strip(" ") == "" and len(text) > 1 and " " in run.task.ids:
            continue  # where letters are tokens, so are spaces
        with pytest.raises(InputError) as refused:
            input_from_text(run, text)
        assert str(refused.value) and chinese(refused.value)


def test_large_maps_travel_in_steps_of_one_255th_and_pooled():
    weights = torch.rand(1, 2, 2, 500, 500)
    assert weights.numel() * 4 > EXACT_BYTES
    stored = allocate_weights(*weights.shape)
    store_weights(stored, 0, weights[0])
    assert np.abs(stored.numpy() / 255 - weights.numpy()).max() <= 0.5 / 255 + 1e-6
    assert tile_side(weights.shape) == 4
    small = pool(weights, 4)
    assert small.shape[-2:] == (125, 125)
    assert small[0, 1, 1, 3, 7] == weights[0, 1, 1, 12:16, 28:32].max()
    assert tile_side((16, 2, 4, 39, 39)) == 0
    side = tile_side((40, 12, 12, 512, 512))
    assert 40 * 144 * (-(-512 // side)) ** 2 <= GRID_BYTES < 40 * 144 * (-(-512 // (side - 1))) ** 2


def test_for_a_long_input_one_layers_weights_are_in_memory_at_a_time(monkeypatch):
    """All of them would be gigabytes for 512 tokens × 144 heads; what remains of each is pooled."""
    model = {"n_layers": 3, "n_heads": 2, "d_model": 16, "d_ff": 16, "max_len": 400}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": 300, "max_len": 300}))
    run.snapshots.entries += [Snapshot(step, run.snapshots[0].weights) for step in (1, 2, 3)]
    storages, alive = [], []
    record_capture = snapshot_arrays.record_capture

    def count_alive(stacks, at, name, value):
        alive.append(sum(storage() is not None for storage in storages))
        if name.endswith(".weights"):
            storages.append(weakref.ref(value.untyped_storage()))
        record_capture(stacks, at, name, value)

    monkeypatch.setattr(snapshot_arrays, "record_capture", count_alive)
    result = collect_arrays(run, held_out_input(run, 0))
    assert len(storages) == 12 and max(alive) == 0
    assert result.attention[0].weights.shape == (4, 3, 2, 100, 100) and result.attention[0].pooled == 3
    assert result.attention[0].shape == (4, 3, 2, 300, 300)


def test_measures_of_a_long_input_are_those_of_its_exact_weights():
    model = {"n_layers": 1, "n_heads": 2, "d_model": 16, "d_ff": 16, "max_len": 400}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": 200, "max_len": 200}))
    model_input = held_out_input(run, 0)
    stack = collect_arrays(run, model_input).attention[0]
    load_parameters(run.model, run.snapshots[0].weights)
    with torch.no_grad(), core.capture(run.model.eval(), "*.weights") as tape:
        run.model(*model_input.batch.inputs)
    weights = tape["blocks.0.attn.weights"][0]
    torch.testing.assert_close(stack.measures["entropy"][0, 0], measures.entropy(weights))
    torch.testing.assert_close(stack.measures["induction"][0, 0], measures.induction(weights, model_input.ids))
    assert stack.weights.shape[-1] <= attention_stack.GRID_SIDE < 200


@pytest.mark.parametrize("name", shipped.names())
def test_typed_inputs_may_be_as_long_as_the_model_reads(name):
    run = shipped.load(name).run
    most = max_tokens(run)
    assert most == min(MAX_INPUT_TOKENS, run.model.config.max_len)
    token = next(token for token in run.task.ids if token.isalnum())
    fits = input_from_text(run, " ".join([token] * (most // 2 - 2)))
    assert len(fits.source) >= most // 2 - 2 and collect_arrays(run, fits).pack()
    with pytest.raises(InputError, match=str(most)) as refused:
        input_from_text(run, " ".join([token] * (most + 1)))
    assert str(most) in chinese(refused.value)


def test_a_typed_stream_is_read_to_its_last_token_and_goes_on():
    run = shipped.load("induction-gpt").run
    model_input = input_from_text(run, "q k d f q k d")
    assert model_input.source == ["q", "k", "d", "f", "q", "k", "d"]
    prediction = collect_arrays(run, model_input).predictions[-1]
    assert prediction["places"] == list(range(7)) and prediction["said"][-1] == {"en": "f", "zh": "f"}
    assert prediction["right"][-3:] == [True, True, None] and prediction["right"][:3] == [None, None, None]


def test_bert_says_whether_the_second_sentence_follows():
    run = shipped.load("masked-bert").run
    for index in range(12):
        model_input = held_out_input(run, index)
        load_parameters(run.model, run.snapshots[-1].weights)
        with torch.no_grad():
            logits = run.model.eval()(*model_input.batch.inputs).next_sentence[0]
        prediction = collect_arrays(run, model_input).predictions[-1]
        assert (
            len(prediction["said"])
            == len(prediction["places"]) + 1
            == len(prediction["right"])
            == len(prediction["shares"])
        )
        assert prediction["shares"][-1] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)
        assert ("not" in prediction["said"][-1]["en"]) == bool(logits.argmax() == 1)
        assert prediction["right"][-1] == (int(logits.argmax()) == int(model_input.batch.next_sentence[0]))
    alone = collect_arrays(run, input_from_text(run, "the [MASK] gave Mary an umbrella on Thursday.")).predictions[-1]
    assert len(alone["said"]) == len(alone["places"]) == 1, "of one sentence it is not asked"


def test_many_gates_travel_in_half_precision_and_too_many_are_refused(monkeypatch):
    run = shipped.load("parity-lstm").run
    model_input = held_out_input(run, 2)
    _, exact = sent_arrays(collect_arrays(run, model_input))
    monkeypatch.setattr(snapshot_arrays, "FLOAT32_STATE_BYTES", 1000)
    _, arrays = sent_arrays(collect_arrays(run, model_input))
    names = [name for name in exact if name.startswith("layers.")]
    assert names and all(arrays[name].dtype == np.float16 for name in names)
    for name in names:
        np.testing.assert_allclose(arrays[name], exact[name], atol=2e-3)
    monkeypatch.setattr(snapshot_arrays, "MAX_STATE_BYTES", sum(arrays[name].nbytes for name in names))
    collect_arrays(run, model_input)
    monkeypatch.setattr(snapshot_arrays, "MAX_STATE_BYTES", snapshot_arrays.MAX_STATE_BYTES - 1)
    with pytest.raises(InputError, match=f"at most {len(model_input.source) - 1} can be shown") as refused:
        collect_arrays(run, model_input)
    assert chinese(refused.value)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_reads_half_precision():
    values = np.array([0, -0.0, 1, -1 / 3, 65504, 6e-8, 6e-5, np.inf, np.nan], np.float16)
    code = f"import('{STATIC}/js/payload.js').then((p) => console.log(...p.fromHalf(new Uint16Array({values.view(np.uint16).tolist()}))))"
    output = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True).stdout.split()
    np.testing.assert_array_equal(np.array(output, np.float32), values.astype(np.float32))
