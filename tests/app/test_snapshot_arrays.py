"""What is sent to the page is what the model computes."""

import shutil
import subprocess
import weakref

import numpy as np
import pytest
import torch

import core
from app.main import STATIC
from app.service import attention_maps, payload, snapshot_arrays
from app.service.attention_maps import EXACT_BYTES, GRID_BYTES, fill, pool, tile_side
from app.service.attention_maps import room as room_for
from app.service.inputs import LONGEST, held_out, room, typed
from app.service.runs import shipped
from app.service.snapshot_arrays import look
from core import InputError
from core.analysis import measures
from core.runs.recipes import make_recipe
from core.runs.run import Run
from core.training.optimisers import load_parameters
from core.training.snapshots import Snapshot
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
    problem = held_out(run, 2)
    header, arrays = payload.unpack(look(run, problem).pack())
    assert header["steps"] == [snapshot.step for snapshot in run.snapshots]
    for index in (0, len(run.snapshots) // 2, -1):
        load_parameters(run.model, run.snapshots[index].weights)
        with torch.no_grad(), core.capture(run.model.eval()) as tape:
            run.model(*problem.batch.inputs)
        for group in header["heads"]:
            for layer, point in enumerate(group["points"]):
                np.testing.assert_allclose(
                    arrays[f"{group['name']}.weights"][index, layer], tape[point][0], atol=1e-6
                )
        for cells in header["cells"]:
            for point in cells["points"]:
                sent = arrays[f"{cells['name']}.{point}"][index]
                np.testing.assert_allclose(sent, tape[f"{cells['name']}.{point}"][0], atol=1e-6)
    assert header["heads"] or header["cells"]
    for group in header["heads"]:
        rows, columns = (len(header["axes"][group[axis]]) for axis in ("queries", "keys"))
        assert arrays[f"{group['name']}.weights"].shape[-2:] == (rows, columns)


@pytest.mark.parametrize("name", shipped.names())
def test_a_held_out_problem_can_be_typed_again(name):
    run = shipped.load(name).run
    problem = held_out(run, 5)
    again = typed(run, problem.text)
    torch.testing.assert_close(again.batch.inputs[0], problem.batch.inputs[0])
    assert again.alignment == problem.alignment or run.recipe.family == "gpt"


@pytest.mark.parametrize("name", shipped.names())
def test_unreadable_inputs_are_refused_with_a_sentence_in_both_languages(name):
    run = shipped.load(name).run
    hostile = ["", "   ", "</script><img src=x onerror=alert(1)>", "🙂 🙂", "שלום עולם", "\0", "x" * 10_000]
    for text in hostile:
        if text.strip(" ") == "" and len(text) > 1 and " " in run.task.ids:
            continue  # where letters are tokens, so are spaces
        with pytest.raises(InputError) as refused:
            typed(run, text)
        assert str(refused.value) and chinese(refused.value)


def test_large_maps_travel_in_steps_of_one_255th_and_pooled():
    weights = torch.rand(1, 2, 2, 500, 500)
    assert weights.numel() * 4 > EXACT_BYTES
    kept = room_for(*weights.shape)
    fill(kept, 0, weights[0])
    assert np.abs(kept.numpy() / 255 - weights.numpy()).max() <= 0.5 / 255 + 1e-6
    assert tile_side(weights.shape) == 4
    small = pool(weights, 4)
    assert small.shape[-2:] == (125, 125)
    assert small[0, 1, 1, 3, 7] == weights[0, 1, 1, 12:16, 28:32].max()
    assert tile_side((16, 2, 4, 39, 39)) == 0
    side = tile_side((40, 12, 12, 512, 512))
    assert 40 * 144 * (-(-512 // side)) ** 2 <= GRID_BYTES < 40 * 144 * (-(-512 // (side - 1))) ** 2


def test_a_long_look_holds_one_layers_weights_at_a_time(monkeypatch):
    """All of them would be gigabytes for 512 tokens × 144 heads; what remains of each is pooled."""
    model = {"n_layers": 3, "n_heads": 2, "d_model": 16, "d_ff": 16, "max_len": 400}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": 300, "max_len": 300}))
    run.snapshots.entries += [Snapshot(step, run.snapshots[0].weights) for step in (1, 2, 3)]
    made, alive = [], []
    see = snapshot_arrays.see

    def watched(heads, at, name, value):
        alive.append(sum(one() is not None for one in made))
        if name.endswith(".weights"):
            made.append(weakref.ref(value.untyped_storage()))
        see(heads, at, name, value)

    monkeypatch.setattr(snapshot_arrays, "see", watched)
    looked = look(run, held_out(run, 0))
    assert len(made) == 12 and max(alive) == 0
    assert looked.heads[0].weights.shape == (4, 3, 2, 100, 100) and looked.heads[0].pooled == 3
    assert looked.heads[0].shape == (4, 3, 2, 300, 300)


def test_measures_of_a_long_input_are_those_of_its_exact_weights():
    model = {"n_layers": 1, "n_heads": 2, "d_model": 16, "d_ff": 16, "max_len": 400}
    run = Run(make_recipe("bert", "parity", model=model, task_options={"min_len": 200, "max_len": 200}))
    problem = held_out(run, 0)
    heads = look(run, problem).heads[0]
    load_parameters(run.model, run.snapshots[0].weights)
    with torch.no_grad(), core.capture(run.model.eval(), "*.weights") as tape:
        run.model(*problem.batch.inputs)
    weights = tape["blocks.0.attn.weights"][0]
    torch.testing.assert_close(heads.measures["entropy"][0, 0], measures.entropy(weights))
    torch.testing.assert_close(heads.measures["induction"][0, 0], measures.induction(weights, problem.ids))
    assert heads.weights.shape[-1] <= attention_maps.GRID_SIDE < 200


@pytest.mark.parametrize("name", shipped.names())
def test_typed_inputs_may_be_as_long_as_the_model_reads(name):
    run = shipped.load(name).run
    most = room(run)
    assert most == min(LONGEST, run.model.config.max_len)
    token = next(token for token in run.task.ids if token.isalnum())
    fits = typed(run, " ".join([token] * (most // 2 - 2)))
    assert len(fits.source) >= most // 2 - 2 and look(run, fits).pack()
    with pytest.raises(InputError, match=str(most)) as refused:
        typed(run, " ".join([token] * (most + 1)))
    assert str(most) in chinese(refused.value)


def test_a_typed_stream_is_read_to_its_last_token_and_goes_on():
    run = shipped.load("induction-gpt").run
    problem = typed(run, "q k d f q k d")
    assert problem.source == ["q", "k", "d", "f", "q", "k", "d"]
    said = look(run, problem).answers[-1]
    assert said["places"] == list(range(7)) and said["said"][-1] == {"en": "f", "zh": "f"}
    assert said["right"][-3:] == [True, True, None] and said["right"][:3] == [None, None, None]


def test_bert_says_whether_the_second_sentence_follows():
    run = shipped.load("masked-bert").run
    for index in range(12):
        problem = held_out(run, index)
        load_parameters(run.model, run.snapshots[-1].weights)
        with torch.no_grad():
            logits = run.model.eval()(*problem.batch.inputs).next_sentence[0]
        said = look(run, problem).answers[-1]
        assert len(said["said"]) == len(said["places"]) + 1 == len(said["right"]) == len(said["shares"])
        assert said["shares"][-1] == pytest.approx(float(logits.softmax(-1).max()), abs=1e-5)
        assert ("not" in said["said"][-1]["en"]) == bool(logits.argmax() == 1)
        assert said["right"][-1] == (int(logits.argmax()) == int(problem.batch.next_sentence[0]))
    alone = look(run, typed(run, "the [MASK] gave Mary an umbrella on Thursday.")).answers[-1]
    assert len(alone["said"]) == len(alone["places"]) == 1, "of one sentence it is not asked"


def test_many_gates_travel_in_half_precision_and_too_many_are_refused(monkeypatch):
    run = shipped.load("parity-lstm").run
    problem = held_out(run, 2)
    _, exact = payload.unpack(look(run, problem).pack())
    monkeypatch.setattr(snapshot_arrays, "EXACT_STATES", 1000)
    _, arrays = payload.unpack(look(run, problem).pack())
    names = [name for name in exact if name.startswith("layers.")]
    assert names and all(arrays[name].dtype == np.float16 for name in names)
    for name in names:
        np.testing.assert_allclose(arrays[name], exact[name], atol=2e-3)
    monkeypatch.setattr(snapshot_arrays, "MOST_STATES", sum(arrays[name].nbytes for name in names))
    look(run, problem)
    monkeypatch.setattr(snapshot_arrays, "MOST_STATES", snapshot_arrays.MOST_STATES - 1)
    with pytest.raises(InputError, match=f"at most {len(problem.source) - 1} can be shown") as refused:
        look(run, problem)
    assert chinese(refused.value)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_reads_half_precision():
    values = np.array([0, -0.0, 1, -1 / 3, 65504, 6e-8, 6e-5, np.inf, np.nan], np.float16)
    code = f"import('{STATIC}/js/payload.js').then((p) => console.log(...p.fromHalf(new Uint16Array({values.view(np.uint16).tolist()}))))"
    told = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True).stdout.split()
    np.testing.assert_array_equal(np.array(told, np.float32), values.astype(np.float32))
