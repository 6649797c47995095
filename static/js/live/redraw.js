// Traces drawn again by Plotly's own trace modules where nothing but their data has changed. Plotly.restyle works out the
// whole figure anew besides, with axes, colour bars and shapes (25 to 40 ms a figure, against 3 to 8 here), and a key moves
// five figures at once. What is reached for here is the part of Plotly that its own Plots.transition uses; it is pinned by
// the package's version, and a test holds the outcome against Plotly.redraw.

const DATA = new Set(["x", "y", "z", "text", "customdata", "hovertemplate", "marker.color", "textfont.color", "textfont.weight"]);
const TYPES = new Set(["scatter", "bar", "heatmap"]);
const CORNERS = /^shapes\[(\d+)\]\.([xy][01])$/;

const TICKS = /^([xy]axis\d*)\.ticktext$/;

// changes: [{path: {trace, rest}, value}] → those that are left for Plotly itself: all, or some of the layout
export function redraw(plot, changes) {
  const { _fullData: traces, _fullLayout: layout } = plot, left = changes.filter(({ path: { trace, rest }, value }) => trace === null && !shapeOf(layout, rest) && !ticksOf(layout, rest, value));
  if (!changes.every(({ path: { trace, rest }, value }) => trace === null || dataOnly(traces[trace], rest, value, layout))) return changes;
  const moved = new Set(), labelled = new Set(), shapes = new Set();
  for (const { path: { trace, rest }, value } of changes.filter((change) => !left.includes(change))) {
    const [, index, corner] = rest.match(CORNERS) ?? [], [, axis] = rest.match(TICKS) ?? [];
    if (trace !== null) {
      put(plot.data[trace], rest, value);
      put(traces[trace], rest, value);
      moved.add(trace);
      if (rest === "x" || rest === "y") labelled.add(trace);
    } else if (axis) {
      plot.layout[axis].ticktext = layout[axis].ticktext = value;
      writeTicks(plot, axis);
    } else {
      plot.layout.shapes[index][corner] = layout.shapes[index][corner] = value;
      shapes.add(Number(index));
    }
  }
  if (moved.size) drawTraces(plot, moved, labelled);
  for (const index of shapes) drawShape(plot, index);
  return left;
}

// a trace of which this attribute can change without anything around it; one that loses its last point is hidden, which Plotly does
function dataOnly(trace, rest, value, { [nameOf(trace.xaxis)]: xaxis, [nameOf(trace.yaxis)]: yaxis }) {
  if (trace.visible !== true || !TYPES.has(trace.type) || xaxis.autorange || yaxis.autorange) return false;
  return DATA.has(rest) && value?.length !== 0 && Array.isArray(value) === Array.isArray(valueAt(trace, rest));
}

function drawTraces(plot, moved, labelled) {
  const { _fullData: traces, _fullLayout: layout, calcdata } = plot;
  for (const index of moved) {
    const trace = traces[index], [before] = calcdata[index];
    if (trace.type !== "heatmap") trace._length = Math.min(...[trace.x, trace.y].filter(Boolean).map(({ length }) => length));
    else if (sameCells(before.z, trace.z) && !labelled.has(index)) { // other values in the same cells
      calcdata[index] = [{ ...before, z: trace.z, trace }];
      continue;
    }
    const calculated = trace._module.calc(plot, trace);
    Object.assign(calculated[0], { t: calculated[0].t ?? before.t, trace });
    calcdata[index] = calculated;
  }
  const modules = new Set(traces.filter(({ visible }) => visible === true).map(({ _module }) => _module));
  for (const { crossTraceCalc } of modules) if (crossTraceCalc) for (const subplot of layout._subplots.cartesian) crossTraceCalc(plot, layout._plots[subplot]);
  layout._basePlotModules.find(({ name }) => name === "cartesian").plot(plot);
  for (const { style } of modules) style?.(plot);
}

// the rectangle or line of a shape that is moved along both axes
function shapeOf(layout, rest) {
  const shape = layout.shapes?.[rest.match(CORNERS)?.[1]];
  return shape && (shape.type === "rect" || shape.type === "line") && nameOf(shape.xref) in layout && nameOf(shape.yref) in layout;
}

function drawShape(plot, index) {
  const shape = plot._fullLayout.shapes[index], [across, down] = [shape.xref, shape.yref].map((name) => plot._fullLayout[nameOf(name)]);
  const [x0, x1] = [shape.x0, shape.x1].map((at) => across._offset + across.d2p(at)), [y0, y1] = [shape.y0, shape.y1].map((at) => down._offset + down.d2p(at));
  const path = shape.type === "line" ? `M${x0},${y0}L${x1},${y1}` : `M${x0},${y0}H${x1}V${y1}H${x0}Z`;
  for (const element of plot.querySelectorAll(`.shapelayer [data-index="${index}"] path, .shapelayer path[data-index="${index}"]`)) element.setAttribute("d", path);
}

// tick labels that are plain text, as many as before
function ticksOf(layout, rest, value) {
  const axis = layout[rest.match(TICKS)?.[1]];
  return axis?.tickmode === "array" && axis.ticktext?.length === value.length && !value.some((text) => /[<&]/.test(text));
}

function writeTicks(plot, name) {
  const axis = plot._fullLayout[name], labels = plot.querySelectorAll(`.${axis._id}tick text`);
  axis._vals.forEach((tick, i) => {
    tick.text = axis.ticktext[Array.prototype.indexOf.call(axis.tickvals, tick.x)];
    labels[i].textContent = tick.text;
    labels[i].setAttribute("data-unformatted", tick.text);
  });
}

const sameCells = (before, z) => before.length === z.length && before[0].length === z[0].length;
const nameOf = (id) => id?.replace(/^([xy])(\d*)$/, "$1axis$2"); // "x2" → "xaxis2"
const valueAt = (trace, rest) => rest.split(".").reduce((part, name) => part?.[name], trace);

function put(trace, rest, value) {
  const names = rest.split("."), last = names.pop();
  names.reduce((part, name) => part[name] ??= {}, trace)[last] = value;
}
