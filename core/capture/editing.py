"""`core.edit`: replace tapped tensors while a model runs. Ready-made edits are in `core.capture.edits`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor, nn

from core.capture.observers import Observer, TapError, active_observers, use_observers

Edit = Callable[[Tensor], Tensor]


@contextmanager
def edit(model: nn.Module, edits: Mapping[str, Edit]) -> Iterator[None]:
    """Run the block with points replaced: `{pattern: function of the tensor}`; see `core.capture.edits`.

    A knock-out must not silently do nothing: a pattern that names no point is an error, and a block in which the model
    did not run gives a warning.
    """
    editor = Editor(model, edits)
    with use_observers(*active_observers.get(), editor):
        yield
    unmatched = editor.unmatched_patterns()
    if unmatched and not editor.reached_points:
        message = "Nothing was edited: the model did not run inside this edit, in this thread. A copy is another."
        warnings.warn(message, stacklevel=3)
    elif unmatched:
        raise TapError(f"No point is named {', '.join(map(repr, unmatched))}: nothing was edited there.")


class Editor(Observer):
    """Replaces tensors in flight by their edits.

    An edit may have two attributes beside being called: `point`, the only kind of point it is meant for, and
    `at_position(value, time, length)`, called in its place where a layer computes one position at a time.
    """

    def __init__(self, model: nn.Module, edits: Mapping[str, Edit]):
        if not isinstance(edits, Mapping):
            raise TapError(f"Edits are {{point: function of its tensor}}, not {type(edits).__name__}.")
        super().__init__(model, list(edits))
        for name, edit in edits.items():
            if not callable(edit):
                raise TapError(f"The edit of {name!r} is no function of its tensor; for a value, core.edits.set_to.")
        self.edits = dict(edits)

    def on_tap(self, module: nn.Module, point: str, value: Tensor, position: tuple[int, int] | None = None) -> Tensor:
        """`position` is (time, length) where the value is a single position of a recurrent point."""
        name, patterns = self.match(module, point)
        if name is None:
            return value
        self.reached_points.add(name)
        for pattern in patterns:
            value = self._apply(self.edits[pattern], name, point, value, position)
        return value

    def _apply(self, edit: Edit, name: str, point: str, value: Tensor, position: tuple[int, int] | None) -> Tensor:
        only_point = getattr(edit, "point", None) or point
        if only_point != point:
            raise TapError(f"The edit of {name!r} can only be one of {name.removesuffix(point) + only_point!r}.")
        at_position = getattr(edit, "at_position", None)
        try:
            edited = edit(value) if position is None or at_position is None else at_position(value, *position)
        except (RuntimeError, IndexError, TypeError) as error:
            raise TapError(f"The edit of {name!r} does not fit shape {tuple(value.shape)}: {error}") from error
        if not isinstance(edited, Tensor):
            raise TapError(f"The edit of {name!r} returned {type(edited).__name__}, not a tensor.")
        for attribute in ("shape", "dtype", "device"):
            old, new = getattr(value, attribute), getattr(edited, attribute)
            if old != new:
                old, new = (tuple(old), tuple(new)) if attribute == "shape" else (old, new)
                raise TapError(f"The edit of {name!r} returned {attribute} {new}; it must keep {old}.")
        return edited
