"""Why a run does not learn: each cause with what it is seen by, and the change that would help, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from core.analysis.diagnosis.evidence import Evidence, differences
from core.config.families import TransformerConfig
from core.config.options import Text

AT_CHANCE = 0.1  # of the way from chance to 1
EVEN = 0.97  # of the greatest entropy a head could have
SHUT, SATURATED = 0.1, 0.9  # a gate's mean; the share of its values near 0 or 1
GAP = 0.08  # between problems trained on and others, from which on it learns by heart
CHEATING = 0.3  # the same between being helped and writing alone
FAR = 10.0  # a learning rate so many times another is far from it
SPIKE = 30.0  # a gradient so many times the usual one


@dataclass(frozen=True)
class Notice:
    kind: str
    what: Text
    remedy: Text
    changes: dict[str, dict[str, Any]]  # of the model, the knobs and the training
    variant: str | None = None  # the recipe that has all of them

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def diverged(seen: Evidence) -> Notice:
    lr = _better_lr(seen, lower=True)
    clip = {} if seen.recipe.training.clip else {"clip": 1.0}
    return Notice(
        "diverged",
        Text(
            f"The loss exploded after {len(seen.steps)} steps: the updates are too large.",
            f"{len(seen.steps)} 步之后损失爆炸：更新过大。",
        ),
        Text(f"Use lr = {lr:g} instead of {seen.recipe.training.lr:g}.", f"请将 lr 从 {seen.recipe.training.lr:g} 改为 {lr:g}。"),
        {"training": {"lr": lr, **clip}},
    )  # fmt: skip


def exploding(seen: Evidence) -> Notice | None:
    """A gradient far longer than usual, and nothing that cuts it."""
    norms = [step.grad_norm for step in seen.steps]
    usual, longest = median(norms), max(norms)
    if seen.recipe.training.clip or longest < SPIKE * usual or usual == 0:
        return None
    step = seen.steps[norms.index(longest)].index
    return Notice(
        "exploding",
        Text(
            f"At step {step} the gradient was {longest:.3g}, {longest / usual:.0f} times as long as usual, and it is not clipped.",
            f"第 {step} 步的梯度范数为 {longest:.3g}，是通常的 {longest / usual:.0f} 倍，而且没有裁剪。",
        ),
        Text("Clip it: clip = 1.", "请裁剪梯度：clip = 1。"),
        {"training": {"clip": 1.0}},
    )  # fmt: skip


def sees_the_future(seen: Evidence) -> Notice | None:
    model = seen.recipe.model
    if getattr(model, "causal", True) or model.head != "lm" or seen.held_out is None:
        return None
    if seen.accuracy - seen.held_out < CHEATING:
        return None
    return Notice(
        "no_mask",
        Text(
            f"In training {seen.accuracy:.0%} are right, but when it writes by itself {seen.held_out:.0%}: without the "
            "causal mask it reads each answer off the next token.",
            f"训练中 {seen.accuracy:.0%} 正确，独自书写时只有 {seen.held_out:.0%}：没有因果掩码，它直接从下一个词元读出答案。",
        ),
        Text("Hide the future: causal = on.", "请遮住未来：打开 causal。"),
        *_with_usual(seen, {"model": {"causal": True}}),
    )


def shut_gates(seen: Evidence) -> Notice | None:
    shut = {name: mean for name, (mean, _) in seen.gates.items() if name.endswith(".forget") and mean < SHUT}
    if not shut or not hasattr(seen.recipe.model, "forget_bias"):
        return None
    mean = fmean(shut.values())
    return Notice(
        "shut_gates",
        Text(
            f"The forget gates are shut: {mean:.0%} open on average. The cell is emptied at every step.",
            f"遗忘门关闭：平均只打开 {mean:.0%}。记忆单元每一步都被清空。",
        ),
        Text("Start with them half open: forget_bias = 0.", "请从半开状态开始：forget_bias = 0。"),
        {"model": {"forget_bias": 0.0}},
    )


def saturated_gates(seen: Evidence) -> Notice | None:
    stuck = {name: share for name, (_, share) in seen.gates.items() if share > SATURATED}
    lr = _better_lr(seen, lower=True)
    if not stuck or shut_gates(seen) or lr >= seen.recipe.training.lr:  # shut from the start: smaller steps open none
        return None
    name, share = max(stuck.items(), key=lambda pair: pair[1])
    return Notice(
        "saturated_gates",
        Text(
            f"{share:.0%} of the values of {name} are almost 0 or 1: hardly any gradient passes.",
            f"{name} 有 {share:.0%} 的值几乎为 0 或 1：梯度几乎无法通过。",
        ),
        Text(f"Take smaller steps: lr = {lr:g}.", f"请减小步长：lr = {lr:g}。"),
        {"training": {"lr": lr}},
    )


def no_positions(seen: Evidence) -> Notice | None:
    model = seen.recipe.model
    if getattr(model, "position", None) != "none" or getattr(model, "causal", False):
        return None  # a causal mask tells a model where it is
    usual = seen.usual
    position = usual.model.position if usual and usual.model.position != "none" else "learned"
    return Notice(
        "no_positions",
        Text(
            "Without positions it sees which tokens there are, but not where.",
            "没有位置信息：它知道有哪些词元，却不知道在哪里。",
        ),
        Text(f"Use position = {position}.", f"请用 position = {position}。"),
        {"model": {"position": position}},
    )


def bottleneck(seen: Evidence) -> Notice | None:
    if getattr(seen.recipe.model, "attention", None) != "none":
        return None
    longest = seen.recipe.task.longest
    return Notice(
        "bottleneck",
        Text(
            f"One vector must hold the whole source, up to {longest} tokens.",
            f"一个向量要装下整个源序列，多达 {longest} 个词元。",
        ),
        Text("Let the decoder look back: attention = bahdanau.", "让解码器回看源序列：attention = bahdanau。"),
        {"model": {"attention": "bahdanau"}},
    )


def too_shallow(seen: Evidence) -> Notice | None:
    """Told only where the recommended recipe needs more layers: how many are enough cannot be seen in the run."""
    usual, model = seen.usual, seen.recipe.model
    if not isinstance(model, TransformerConfig) or usual is None or usual.model.n_layers <= model.n_layers:
        return None
    layers = usual.model.n_layers
    return Notice(
        "too_shallow",
        Text(
            f"It has n_layers = {model.n_layers}, but this task is known to take {layers}: a later layer works with what "
            "an earlier one has marked.",
            f"它有 {model.n_layers} 层，而已知此任务需要 {layers} 层：后一层要用到前一层标记的内容。",
        ),
        Text(f"Use n_layers = {layers}.", f"请用 n_layers = {layers}。"),
        {"model": {"n_layers": layers}},
    )


def by_heart(seen: Evidence) -> Notice | None:
    samples = seen.recipe.training.samples
    if samples is None or seen.held_out is None or seen.accuracy - seen.held_out < GAP:
        return None
    changes: dict[str, dict[str, Any]] = {"training": {"samples": None}}
    return Notice(
        "by_heart",
        Text(
            f"It learns its {samples:,} problems by heart: {seen.accuracy:.0%} of those right, but {seen.held_out:.0%} of "
            f"others (chance: {seen.chance:.0%}).",
            f"它在死记 {samples:,} 道题：这些题对 {seen.accuracy:.0%}，其他题只对 {seen.held_out:.0%}（随机水平：{seen.chance:.0%}）。",
        ),
        Text(
            "Give it fresh problems instead of the same ones, as the recommended recipe does."
            if seen.usual
            else "Give it more problems, or fresh ones where the task makes them.",
            "请像推荐配方那样总用新题，而不是反复用同样的题。"
            if seen.usual
            else "请给更多的题；能生成新题的任务请用新题。",
        ),
        *_with_usual(seen, changes),
    )


def lr_far_off(seen: Evidence) -> Notice | None:
    usual, lr = seen.usual, seen.recipe.training.lr
    if usual is None or 1 / FAR < lr / usual.training.lr < FAR:
        return None
    high = lr > usual.training.lr
    times = lr / usual.training.lr if high else usual.training.lr / lr
    return Notice(
        "lr_too_high" if high else "lr_too_low",
        Text(
            f"The learning rate is {times:.0f} times {'higher' if high else 'lower'} than what is known to work here"
            + (": every update throws away what the one before has found." if high else ": it hardly moves."),
            f"学习率是已知可行值的 {times:.0f} 倍：每次更新都丢掉上一次的成果。"
            if high
            else f"学习率只有已知可行值的 1/{times:.0f}：几乎不动。",
        ),
        Text(f"Use lr = {usual.training.lr:g}.", f"请用 lr = {usual.training.lr:g}。"),
        {"training": {"lr": usual.training.lr}},
    )


def at_chance(seen: Evidence) -> Notice | None:
    reached = seen.accuracy if seen.held_out is None else max(seen.held_out, seen.accuracy)
    if reached > seen.chance + AT_CHANCE * (1 - seen.chance):
        return None
    what = Text(
        f"After {len(seen.steps)} steps {reached:.0%} are right, no more than by chance ({seen.chance:.0%}).",
        f"{len(seen.steps)} 步之后正确率为 {reached:.0%}，不高于随机水平（{seen.chance:.0%}）。",
    )
    if seen.usual and (whole := differences(seen.recipe, seen.usual)):
        remedy = Text("Begin with the recommended recipe.", "请从推荐配方开始。")
        return Notice("at_chance", what, remedy, whole, "default")
    lr = _better_lr(seen, lower=seen.recipe.training.lr >= 1e-2)
    return Notice("at_chance", what, Text(f"Try lr = {lr:g}.", f"请试 lr = {lr:g}。"), {"training": {"lr": lr}})


def dead_heads(seen: Evidence) -> Notice | None:
    dead, heads = [name for name, even in seen.heads.items() if even > EVEN], getattr(seen.recipe.model, "n_heads", 1)
    if not dead or heads == 1:
        return None
    fewer = max(n for n in range(1, heads) if seen.recipe.model.d_model % n == 0)
    listed = ", ".join(dead[:4]) + (" …" if len(dead) > 4 else "")
    return Notice(
        "dead_head",
        Text(
            f"{len(dead)} of {len(seen.heads)} heads look at all tokens alike, so they tell nothing apart: {listed}.",
            f"{len(seen.heads)} 个头中有 {len(dead)} 个对所有词元一视同仁，什么也没有区分：{listed}。",
        ),
        Text(f"Use fewer, wider heads: n_heads = {fewer}.", f"请用更少、更宽的头：n_heads = {fewer}。"),
        {"model": {"n_heads": fewer}},
    )


def unfinished(seen: Evidence) -> Notice | None:
    """The loss still fell in the last quarter, by more than a tenth."""
    losses = [step.loss for step in seen.steps]
    quarter = len(losses) // 4
    if quarter < 10:
        return None
    before, after = fmean(losses[-2 * quarter : -quarter]), fmean(losses[-quarter:])
    if after > 0.9 * before:
        return None
    steps = 2 * seen.recipe.training.steps
    return Notice(
        "unfinished",
        Text(
            f"It was still learning when it ended: the loss fell from {before:.3g} to {after:.3g} in the last quarter.",
            f"结束时仍在学习：最后四分之一中损失从 {before:.3g} 降到 {after:.3g}。",
        ),
        Text(f"Train longer: steps = {steps}.", f"请训练更久：steps = {steps}。"),
        {"training": {"steps": steps}},
    )


def _with_usual(seen: Evidence, changes: dict[str, dict[str, Any]]) -> tuple[dict[str, dict[str, Any]], str | None]:
    """The change, with whatever else the recommended recipe has otherwise: alone it is known not to be enough."""
    return (changes, None) if seen.usual is None else (differences(seen.recipe, seen.usual), "default")


def _better_lr(seen: Evidence, lower: bool) -> float:
    lr, usual = seen.recipe.training.lr, seen.usual
    if usual and (usual.training.lr < lr) == lower and usual.training.lr != lr:
        return usual.training.lr
    return float(f"{lr / 10 if lower else lr * 10:.1g}")


CAUSES: tuple[Callable[[Evidence], Notice | None], ...] = (
    exploding, sees_the_future, shut_gates, no_positions, bottleneck, by_heart, too_shallow, lr_far_off,
    saturated_gates,
)  # fmt: skip
