// Draws the charts of a page with uPlot, from the JSON that their figure names; again at each refresh.
"use strict";
(() => {
  const number = value => value == null ? "–" : Math.abs(value) >= 1e6 ? (value / 1e6).toFixed(1) + "M"
    : Math.abs(value) >= 1e4 ? (value / 1e3).toFixed(1) + "k" : value % 1 && Math.abs(value) < 10 ? String(+value.toFixed(2)) : Math.round(value).toLocaleString("en");
  const style = (element, name) => getComputedStyle(element)[name];
  const probe = (figure, name) => {
    const node = document.createElement("i");
    node.className = name; figure.append(node);
    const colour = style(node, "color"); node.remove();
    return colour;
  };
  const faint = colour => colour.replace(/^rgb\(([^)]*)\)$/, (_, inner) => `rgb(${inner.replaceAll(",", " ")} / .12)`);

  const moments = (drawn, ticks) => {
    const span = drawn.scales.x.max - drawn.scales.x.min, two = { hour: "2-digit", minute: "2-digit", hour12: false };
    const shape = span > 90000 ? { month: "short", day: "numeric" } : span < 330 ? { ...two, second: "2-digit" } : two;
    return ticks.map(tick => new Date(tick * 1000).toLocaleString([], shape));
  };

  const legend = (figure, chart, place) => {
    const caption = figure.querySelector("figcaption");
    let box = caption.querySelector(".legend");
    if (!box) { box = document.createElement("span"); box.className = "legend"; caption.append(box); }
    box.replaceChildren(...chart.series.map((series, index) => {
      const item = document.createElement("span"), spot = document.createElement("i");
      const values = chart.data[index + 1], last = place ?? values.findLastIndex(value => value != null);
      spot.className = `series-${series.colour ?? index}`;
      item.append(spot, `${series.label} ${number(values[last])}${figure.dataset.unit ? " " + figure.dataset.unit : ""}`);
      return item;
    }));
  };

  const lone = (drawn, series) => {
    const values = drawn.data[series];
    return values.flatMap((value, at) => value != null && values[at - 1] == null && values[at + 1] == null ? [at] : []);
  };

  const options = (figure, chart, plot) => {
    const muted = probe(figure, "muted"), line = style(figure, "borderTopColor");
    const axis = { stroke: muted, font: "11px system-ui, sans-serif", grid: { stroke: line, width: 1 }, ticks: { show: false } };
    return {
      width: plot.clientWidth, height: plot.clientHeight, padding: [6, 16, 0, 0],
      legend: { show: false }, cursor: { y: false, points: { size: 6 }, sync: { key: "page" } },
      scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(high * 1.1, 1)] } },
      axes: [{ ...axis, size: 26, space: 70, grid: { show: false }, values: moments }, { ...axis, size: 46, space: 34, values: (_, ticks) => ticks.map(number) }],
      series: [{}, ...chart.series.map((series, index) => {
        const colour = probe(figure, `series-${series.colour ?? index}`);
        return { label: series.label, stroke: colour, width: 1.6, fill: index === 0 ? faint(colour) : undefined, points: { show: true, size: 4, filter: lone }, spanGaps: series.spans === true };
      })],
      hooks: { setCursor: [drawn => legend(figure, figure.chart, drawn.cursor.idx)] },
    };
  };

  const draw = async (figure, isNew) => {
    let chart;
    try {
      const answer = await fetch(figure.dataset.chart, { headers: { "HX-Request": "true" } });
      if (!answer.ok) return;
      chart = await answer.json();
    } catch { return; }
    const plot = figure.querySelector(".plot");
    figure.chart = chart;
    if (figure.plot && !isNew) figure.plot.setData(chart.data);
    else { figure.plot?.destroy(); plot.replaceChildren(); figure.plot = new uPlot(options(figure, chart, plot), chart.data, plot); }
    legend(figure, chart, figure.plot.cursor.idx ?? undefined);
  };
  const figures = () => [...document.querySelectorAll("figure[data-chart]")];
  const drawAll = isNew => figures().forEach(figure => draw(figure, isNew));
  document.body.addEventListener("refresh", () => drawAll(false));
  document.addEventListener("theme", () => drawAll(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
  new ResizeObserver(() => figures().forEach(figure => {
    const plot = figure.querySelector(".plot");
    if (figure.plot && plot.clientWidth !== figure.plot.width) figure.plot.setSize({ width: plot.clientWidth, height: plot.clientHeight });
  })).observe(document.body);
  drawAll(true);
})();
