"use strict";
for (const spec of document.querySelectorAll("script.spec")) {
  const place = document.getElementById(spec.dataset.chart);
  vegaEmbed(place, JSON.parse(spec.textContent), {
    mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, ast: true,
  }).catch((error) => {
    place.textContent = "This chart could not be drawn; the table below holds its figures.";
    console.error(error);
  });
}
let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const element of closed) element.open = true;
});
window.addEventListener("afterprint", () => {
  for (const element of closed) element.open = false;
  closed = [];
});
