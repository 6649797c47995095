"""Captions of the Gates tab: what units follow, what they keep, how much they move, in every case."""

from __future__ import annotations

from typing import Any

from app.figures.expressions import Array, Choose, Expression, Format, Sentences, State
from app.figures.gates_view import CLEAR, MEMORY_GATE, SIGNED, RecurrentView, quoted, signal_name


def units_caption(view: RecurrentView, sort_kind: Expression) -> Expression:
    """Of all units, by what they are sorted by."""
    sizes, point, units = view.sizes, view.point_index, view.values["hidden"].shape[-1]
    what, mean = view.chosen_name, sizes["mean"][point, "snapshot"]
    is_state = Choose(State("gate"), {one: int(one in SIGNED) for one in view.points})
    how_large = [
        Format("{what} gate: **{mean:.2f}** open on average over all units and tokens (0 shut, 1 open).", what=what, mean=mean),
        Format("{what}: **{mean:.2f}** in size on average over all units and tokens.", what=what, mean=mean),
    ]  # fmt: skip
    saturated = Format(
        "{what}: **{full} of {units}** units stand at an end of their range (its outermost tenth) at 90 % of the tokens or more; on average a unit does at {mean:.0%} of the tokens.",
        what=what,
        full=sizes["full"][point, "snapshot"],
        units=units,
        mean=sizes["saturated"][point, "snapshot"],
    )
    return Choose(sort_kind, [Choose(is_state, how_large), saturated, memory_caption(view), follow_caption(view)])


def follow_caption(view: RecurrentView) -> Expression:
    """Whether any unit follows the signal that they are sorted by."""
    at = (*view.by_point, "snapshot")
    facts: dict[str, Any] = {name: view.follows[name][at] for name in ("unit", "r")}
    facts |= {"what": view.chosen_name, "signal": Choose(view.sort_index, [_signal(name) for name in view.sorts])}
    sentences = [
        Format(
            "No unit clearly follows {signal}: the closest, unit **{unit}**, has r = {r:+.2f} ({what}); by chance alone the best of {units} would reach about {chance:.2f} over {length} tokens.",
            units=view.values["hidden"].shape[-1],
            chance=view.by_chance,
            length=len(view.tokens),
            **facts,
        ),
        Format("No single unit carries {signal}: the closest, unit **{unit}**, has r = {r:+.2f} ({what}).", **facts),
        Format("Unit **{unit}** follows {signal}: **r = {r:+.2f}** ({what}).", **facts),
        Format(
            "**{many} units** follow {signal} with |r| ≥ {clear:.1f}; the closest is unit **{unit}**: **r = {r:+.2f}** ({what}).",
            many=view.follows["many"][at],
            clear=CLEAR,
            **facts,
        ),
    ]
    return Choose(view.follows["kind"][at], sentences)


def _signal(sort: str) -> Any:
    return signal_name(sort.removeprefix("follows ")) if sort.startswith("follows ") else ""


def gate_name(view: RecurrentView) -> Expression:
    return Format("forget gate") if MEMORY_GATE[view.kind] == "forget" else Format("update gate")


def memory_caption(view: RecurrentView) -> Any:
    """Which unit keeps longest by its gate, and how many hold and rewrite."""
    if view.kind not in MEMORY_GATE:
        return ""
    of = {name: array["snapshot"] for name, array in view.memory.summary.items()}
    longest = Format(
        "By the {gate} alone, unit **{unit}** keeps longest: the product of its gates falls to ½ every **{steps:.1f} steps** (median of the units: {middle:.1f}).",
        gate=gate_name(view),
        unit=of["unit"],
        steps=of["steps"],
        middle=of["middle"],
    )
    switches = Format(
        "Units that hold and rewrite: **{many} of {units}**; the half-life does not show what they keep in between.",
        many=of["switches"],
        units=view.values["hidden"].shape[-1],
    )
    return Sentences([longest, Choose(of["switches"], ["", switches])])


def unit_caption(view: RecurrentView) -> Expression:
    """What one unit's state follows best, and what it does with what it holds."""
    index, r = (view.best_signal[name]["snapshot", "unit"] for name in ("index", "r"))
    names = Choose(index, ["", *(signal_name(name) for name in view.signals)])
    closest = Format("Its hidden value comes closest to {signal}: **r = {r:+.2f}**.", signal=names, r=r)
    if view.kind in MEMORY_GATE:
        return Sentences([Choose(index, ["", closest]), *memory_words(view)])
    return Choose(index, [Format("It does not move on this input."), closest])


def memory_words(view: RecurrentView) -> list[Expression]:
    """Whether a unit holds its state, lets it fade or writes it anew, and what its gate alone says."""
    of = {name: array["snapshot", "unit"] for name, array in view.memory.arrays.items()}
    after_first = Format("the {n} tokens after the first", n=of["all"])
    every = Format("{n} tokens", n=of["all"])
    whole = Array(f"{view.name}.memory.whole", (view.memory.arrays["all"].values == len(view.tokens)).astype("int32"))
    facts: dict[str, Any] = {name: of[name] for name in ("kept", "fresh", "share")}
    facts["tokens"] = Choose(whole["snapshot", "unit"], [after_first, every])
    where = Choose(
        of["where"], ["", *(Format(": at every {tokens}", tokens=_joined(place)) for place in view.memory.places[1:])]
    )
    kinds = [
        "",
        Format("It **holds**: at {kept} of {tokens} its state is mostly the old one, {share:.0%} of which is kept each time.", **facts),
        Format("It **fades**: at {kept} of {tokens} its state is mostly the old one, but only {share:.0%} of it is kept each time.", **facts),
        Format("It **holds and rewrites**: at {kept} of {tokens} its state is mostly the old one ({share:.0%} kept each time), at {fresh} mostly new{where}.", **facts, where=where),
        Format("It **fades and is rewritten**: at {kept} of {tokens} its state is mostly the old one (only {share:.0%} kept each time), at {fresh} mostly new{where}.", **facts, where=where),
        Format("It **keeps little**: at {fresh} of {tokens} its state is mostly new.", **facts),
    ]  # fmt: skip
    lives: dict[str, Any] = {"gate": gate_name(view), "steps": view.memory.half_life["snapshot", "unit"]}
    lives["length"] = len(view.tokens)
    by_gate = Format(
        "By the {gate} alone, over all {length} tokens, the product of the gates falls to ½ every **{steps:.1f} steps**.", **lives
    )  # fmt: skip
    where_held = Format(
        "By the {gate} alone, the product of the gates falls to ½ every **{held:.1f} steps** where it holds, every {steps:.1f} over all {length} tokens.",
        held=of["held"],
        **lives,
    )
    return [Choose(of["kind"], kinds), Choose(of["kind"], [by_gate, by_gate, by_gate, where_held, by_gate, by_gate])]


def _joined(tokens: tuple[str, ...]) -> Any:
    if len(tokens) == 1:
        return quoted(tokens[0])
    return Format("{some} and {last}", some=_joined(tokens[:-1]), last=quoted(tokens[-1]))


def swing_caption(view: RecurrentView) -> Expression:
    """Whether the range of a unit's values over the tokens grew or shrank in training, and when it was half way."""
    of = {name: array[view.point_index, "unit"] for name, array in view.swing.items()}
    facts: dict[str, Any] = {"what": view.chosen_name, **{name: of[name] for name in ("start", "end", "step")}}
    kinds = [
        Format("{what}: its swing over the tokens (largest − smallest) is **{end:.2f}** at step {step}, the only moment kept so far.", **facts),
        Format("{what}: its swing over the tokens (largest − smallest) is about **the same** at the end, {end:.2f}, as at the start, {start:.2f}.", **facts),
        Format("{what}: its swing over the tokens (largest − smallest) **grew** from {start:.2f} to **{end:.2f}**; it was half way by step **{step}**.", **facts),
        Format("{what}: its swing over the tokens (largest − smallest) **shrank** from {start:.2f} to **{end:.2f}**; it was half way by step **{step}**.", **facts),
    ]  # fmt: skip
    peak = Format("On the way it reached {peak:.2f}, at step {step}.", peak=of["peak"], step=of["peak_step"])
    return Sentences([Choose(of["kind"], kinds), Choose(of["peaked"], ["", peak])])
