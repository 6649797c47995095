// Arrow keys within a group of radio buttons and along the tabs: Gradio gives each radio button a name of its own, so the
// browser does not see that they belong together.

const MOVES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function walkRadios(event) {
  const move = MOVES[event.key], group = event.target.matches?.("input[type=radio]") && event.target.closest("fieldset, .block");
  if (!move || !group) return;
  const all = [...group.querySelectorAll("input[type=radio]:not(:disabled)")], next = all[(all.indexOf(event.target) + move + all.length) % all.length];
  event.preventDefault();
  event.stopPropagation();
  next.focus();
  next.click();
}
