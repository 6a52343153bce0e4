// The sliders of the page about concepts. Without scripts, or without the table, the page keeps its picture and this does nothing.
(function () {
  "use strict";
  var table = window.noisewiseWidths, host = document.getElementById("width-explorer");
  if (!table || !host) { return; }
  var svgSpace = "http://www.w3.org/2000/svg", terms = Object.keys(table.terms);

  function element(name, attributes, words) {
    var made = document.createElementNS(svgSpace, name);
    Object.keys(attributes).forEach(function (key) { made.setAttribute(key, attributes[key]); });
    if (words !== undefined) { made.textContent = words; }
    return made;
  }

  function control(label, id, values, start, show) {
    var row = document.createElement("p"), name = document.createElement("label"), input = document.createElement("input"),
        value = document.createElement("output");
    name.textContent = label + " ";
    name.htmlFor = value.htmlFor = input.id = id;
    input.type = "range";
    input.min = 0;
    input.max = values.length - 1;
    input.step = 1;
    input.value = start;
    input.style.width = "14em";
    input.style.verticalAlign = "middle";
    row.append(name, input, " ", value);
    host.append(row);
    input.update = function () {
      value.textContent = show(values[input.value]);
      input.setAttribute("aria-valuetext", value.textContent);
    };
    input.addEventListener("input", draw);
    return input;
  }

  function digits(value) { return Number(value.toPrecision(2)).toString(); }

  var epsilon = control("ε", "width-epsilon", table.epsilon, table.epsilon.indexOf(1), String);
  var rows = control("rows", "width-rows", table.rows, 0, function (count) { return count.toLocaleString("en"); });
  var picture = element("svg", {viewBox: "0 0 640 " + (20 + 104 * terms.length), role: "img", width: "100%",
                                style: "max-width: 44rem; color: inherit"});
  var words = document.createElement("p");
  words.setAttribute("aria-live", "polite");
  host.append(picture, words);
  host.hidden = false;

  function bar(y, low, high, scale, colour, label, thick) {
    var left = scale(low), right = scale(high);
    picture.append(element("line", {x1: left, x2: right, y1: y, y2: y, stroke: colour, "stroke-width": thick}));
    picture.append(element("text", {x: 8, y: y + 4, fill: "currentColor", "font-size": 13}, label));
  }

  function draw() {
    epsilon.update();
    rows.update();
    picture.replaceChildren();
    var said = [];
    terms.forEach(function (term, place) {
      var entry = table.terms[term], width = entry.width[rows.value][epsilon.value], without = entry.without[rows.value],
          power = entry.power[rows.value][epsilon.value], top = 30 + 104 * place, reach = 3 * entry.effect;
      function scale(value) { return 380 + 240 * Math.max(-1, Math.min(1, (value - entry.effect) / reach)); }
      picture.append(element("text", {x: 8, y: top, fill: "currentColor", "font-size": 15, "font-weight": "bold"},
                             term + ", true effect " + entry.effect));
      [[0, "0"], [entry.effect, String(entry.effect)]].forEach(function (mark) {
        picture.append(element("line", {x1: scale(mark[0]), x2: scale(mark[0]), y1: top + 6, y2: top + 62, stroke: "currentColor",
                                        "stroke-width": 1, "stroke-dasharray": mark[0] ? "4 3" : "none", opacity: 0.6}));
        picture.append(element("text", {x: scale(mark[0]), y: top + 78, fill: "currentColor", "font-size": 12,
                                        "text-anchor": "middle"}, mark[1]));
      });
      var shows = width / 2 < entry.effect;
      bar(top + 22, entry.effect - without / 2, entry.effect + without / 2, scale, "#8a8a8a", "without privacy", 7);
      bar(top + 46, entry.effect - width / 2, entry.effect + width / 2, scale, shows ? "#0072b2" : "#d55e00",
          "with ε = " + table.epsilon[epsilon.value], 11);
      said.push(term + ": 95 % interval " + digits(width) + " wide, " + digits(width / without) +
                " times that without privacy; the effect is detected in " + Math.round(100 * power) + " of 100 releases.");
    });
    words.textContent = said.join(" ");
    picture.setAttribute("aria-label", words.textContent);
  }

  draw();
}());
