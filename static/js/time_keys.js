// Whose arrow keys they are. They move through training, unless what has the focus was reached with the keyboard and
// uses them itself: after a click anywhere a lecture goes on with the arrow keys. Escape always gives them back.

const FIELDS = "input:not([type=radio], [type=checkbox]), textarea, select"; // what is typed or chosen there stays there
let pressed = false, focusByPointer = false, lastByPointer = false;

export const isField = (element) => Boolean(element.closest?.(FIELDS));

// Did a click, not the tab key, bring the focus to where it is, and is that no field?
export const afterClick = (element) => focusByPointer && !isField(element);

export function watchFocus() {
  const always = (kinds, hear) => kinds.forEach((kind) => document.addEventListener(kind, hear, true));
  always(["pointerdown", "mousedown"], () => { pressed = focusByPointer = lastByPointer = true; }); // a touch gives the focus with the second
  always(["pointerup", "mouseup", "pointercancel"], () => { pressed = false; });
  always(["focusin"], () => { focusByPointer = pressed; });
  always(["keydown"], (event) => {
    lastByPointer = false;
    if (event.key === "Tab") focusByPointer = false;
    if (event.key === "Escape") document.activeElement?.blur();
  });
  always(["change"], (event) => { if (lastByPointer && event.target.matches("select")) event.target.blur(); });
}
