
"use strict";
// Shows probabilities at the pointer or by arrow keys. Without this script the page has everything else.
(function () {
  document.documentElement.classList.add("js");
  const STEPS = 200, MINUS = "\u2212";
  const levels = [0.001, 0.005];
  for (let step = 1; step < 100; step += 1) levels.push(step / 100);
  levels.push(0.995, 0.999);

  function below(quantiles, value) {
    if (value <= quantiles[0]) return 0;
    for (let place = 1; place < quantiles.length; place += 1) {
      if (value <= quantiles[place]) {
        const width = quantiles[place] - quantiles[place - 1];
        const share = width > 0 ? (value - quantiles[place - 1]) / width : 1;
        return levels[place - 1] + share * (levels[place] - levels[place - 1]);
      }
    }
    return 1;
  }
  function written(value, sd) {
    const decimals = sd > 0 ? Math.min(8, Math.max(0, 1 - Math.floor(Math.log10(sd)))) : 3;
    const large = Math.abs(value) >= 1e7 || (sd > 0 && sd < 1e-6);
    const text = large ? value.toPrecision(4) : value.toFixed(decimals);
    return text.replace(/^-(?=[0.]*$)/, "").replace("-", MINUS);
  }
  function percent(share) {
    if (share < 0.001) return "below 0.1 %";
    if (share > 0.999) return "above 99.9 %";
    return (100 * share).toFixed(1).replace(/\.0$/, "") + " %";
  }

  for (const card of document.querySelectorAll(".card[data-q]")) {
    const plot = card.querySelector(".plot"), line = card.querySelector(".cursor"), out = card.querySelector(".readout");
    const quantiles = JSON.parse(card.dataset.q), term = card.dataset.term, rest = out.textContent;
    const low = Number(card.dataset.low), high = Number(card.dataset.high), sd = Number(card.dataset.sd);
    const slider = document.createElement("input");
    slider.type = "range"; slider.min = "0"; slider.max = String(STEPS); slider.step = "1";
    slider.value = String(Math.round(STEPS * (quantiles[52] - low) / (high - low)));
    slider.setAttribute("aria-label", "Read probabilities of " + term);

    function words(value) {
      return "Above " + written(value, sd) + " with probability " + percent(1 - below(quantiles, value));
    }
    function show(share) {
      const value = low + share * (high - low), x = 10 + 320 * share;
      line.setAttribute("x1", x.toFixed(1)); line.setAttribute("x2", x.toFixed(1));
      line.classList.add("on");
      out.textContent = words(value);
    }
    function fromSlider() {
      const share = Number(slider.value) / STEPS;
      slider.setAttribute("aria-valuetext", term + ": " + words(low + share * (high - low)));
      show(share);
    }
    function hide() {
      if (document.activeElement === slider) { fromSlider(); return; }
      line.classList.remove("on");
      out.textContent = rest;
    }
    slider.setAttribute("aria-valuetext", term + ": " + words(low + Number(slider.value) / STEPS * (high - low)));
    slider.addEventListener("input", fromSlider);
    slider.addEventListener("focus", fromSlider);
    slider.addEventListener("blur", hide);
    plot.addEventListener("pointermove", function (event) {
      const box = plot.getBoundingClientRect();
      const share = ((event.clientX - box.left) / box.width * 340 - 10) / 320;
      show(Math.min(1, Math.max(0, share)));
    });
    plot.addEventListener("pointerleave", hide);
    plot.appendChild(slider);
  }

  // Unfold everything for printing, then restore what the reader had.
  const opened = [];
  window.addEventListener("beforeprint", function () {
    for (const folded of document.querySelectorAll("details:not([open])")) { folded.open = true; opened.push(folded); }
  });
  window.addEventListener("afterprint", function () {
    while (opened.length) opened.pop().open = false;
  });
})();
