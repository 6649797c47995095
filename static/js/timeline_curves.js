// From a run's numbers to lines on the timeline: any run's, also one that has just begun, is long, or has broken down.

const QUICK = 0.12, FIRST = 12; // how much a new value counts in the running mean; so many values are shown as they are
const SAME_PX = 0.5; // points closer than this are one

const isNumber = (value) => typeof value === "number" && Number.isFinite(value); // what is no number comes as null

export const lastStep = ({ steps, snapshots }) => Math.max(1, steps.at(-1) ?? 0, snapshots.at(-1) ?? 0);

// log(1 + step): the beginning, where most happens, has room
export function scaleOf(story, left, inner) {
  const whole = Math.log1p(lastStep(story));
  return (step) => left + (inner * Math.log1p(step)) / whole;
}

// The scale of the loss is that of its beginning: what shoots up later leaves at the top.
export function highest(losses) {
  const begun = losses.slice(0, Math.max(20, losses.length / 4)).filter(isNumber);
  return begun.reduce((most, loss) => Math.max(most, loss), 1e-9);
}

// The step at which a loss stopped being a number and stayed so; null if it never did.
export function brokenAt({ steps, loss }) {
  const sound = loss.findLastIndex(isNumber);
  return loss.length && sound < loss.length - 1 ? steps[sound + 1] : null;
}

// {path, count, end}: a running mean of the values, cut where there are none; `end` is its last one
export function curve(values, steps, x, y) {
  const share = Math.max(QUICK, Math.min(1, FIRST / values.length)), pieces = [];
  let mean = null, at = -Infinity, open = false, count = 0;
  values.forEach((value, i) => {
    if (!isNumber(value)) {
      open = false;
      return;
    }
    mean = mean === null ? value : mean + share * (value - mean);
    count += 1;
    const across = x(steps[i]);
    if (open && across - at < SAME_PX && i < values.length - 1) return;
    pieces.push(`${open ? "L" : "M"}${across.toFixed(1)},${y(mean).toFixed(1)}`);
    [at, open] = [across, true];
  });
  return { path: pieces.join(""), count, end: mean, at };
}

// 0, 1, 2, 5, 10, … and the last step, each with room for its number
export function ticks(last, x, room) {
  const steps = [0];
  for (let decade = 1; decade < last; decade *= 10) {
    for (const m of [1, 2, 5]) {
      const step = m * decade;
      if (x(step) - x(steps.at(-1)) >= room && x(last) - x(step) >= room) steps.push(step);
    }
  }
  return [...steps, last];
}
