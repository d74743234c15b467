(function () {
  "use strict";
  var root = document.documentElement, tip = document.querySelector(".tip");
  root.classList.add("js");

  /* Light and dark. */
  var theme = document.querySelector(".theme");
  var media = window.matchMedia ? window.matchMedia("(prefers-color-scheme: dark)") : { matches: false };
  function dark() { return (root.dataset.theme || (media.matches ? "dark" : "light")) === "dark"; }
  function named() { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", "Show the page in " + (dark() ? "light" : "dark") + " colours"); }
  theme.hidden = false;
  named();
  theme.addEventListener("click", function () { root.dataset.theme = dark() ? "light" : "dark"; named(); });
  if (media.addEventListener) media.addEventListener("change", named);

  /* What is pointed at. */
  var titles = new WeakMap();
  function told(node) {
    for (var at = node; at && at.nodeType === 1 && at.tagName !== "svg"; at = at.parentNode) {
      if (titles.has(at)) return titles.get(at);
      var first = at.firstElementChild && at.querySelector(":scope > title");
      if (first) { var text = first.textContent; titles.set(at, text); first.remove(); return text; }
    }
    return null;
  }
  function show(text, x, y) {
    tip.textContent = text;
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, window.innerWidth - box.width - 4)) + "px";
    tip.style.top = (y - box.height - 12 > 4 ? y - box.height - 12 : y + 18) + "px";
  }
  function hide() { tip.hidden = true; }
  document.addEventListener("pointermove", function (event) {
    var svg = event.target.closest && event.target.closest("svg.fig");
    var text = svg ? told(event.target) : null;
    if (text) show(text, event.clientX, event.clientY); else hide();
  });
  document.addEventListener("pointerleave", hide);
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") hide(); });

  /* Maps: directions, zoom, classes, rows by keyboard. */
  var source = document.getElementById("data-maps");
  if (!source) return;
  var all = JSON.parse(source.textContent), off = {}, maps = [];
  var NS = "http://www.w3.org/2000/svg";
  function make(name, attributes, text) {
    var node = document.createElementNS(NS, name);
    for (var key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function extent(values) {
    var low = Infinity, high = -Infinity;
    for (var k = 0; k < values.length; k++) { if (values[k] < low) low = values[k]; if (values[k] > high) high = values[k]; }
    return low <= high ? [low, high] : [0, 1];
  }
  function step(range, about) {
    var raw = range / about, size = Math.pow(10, Math.floor(Math.log10(raw))), part = raw / size;
    return (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * size;
  }
  function shown(value) { return (Math.abs(value) < 1e-12 ? "0" : String(parseFloat(value.toPrecision(6)))).replace("-", "\u2212"); }
  function Map2(data) {
    this.data = data;
    this.svg = document.querySelector("#" + data.id + " svg.fig");
    this.points = this.svg.querySelectorAll(".p");
    this.a = 0; this.b = 1; this.current = -1;
    this.fit();
    this.listen();
  }
  Map2.prototype.fit = function () {
    var f = this.data.frame, x = extent(this.data.x[this.a]), y = extent(this.data.x[this.b]);
    var unit = Math.max((x[1] - x[0]) / (f.r - f.l), (y[1] - y[0]) / (f.b - f.t)) * 1.08 || 1 / (f.r - f.l);
    this.unit = unit; this.cx = (x[0] + x[1]) / 2; this.cy = (y[0] + y[1]) / 2;
  };
  Map2.prototype.px = function (v) { var f = this.data.frame; return (f.l + f.r) / 2 + (v - this.cx) / this.unit; };
  Map2.prototype.py = function (v) { var f = this.data.frame; return (f.t + f.b) / 2 - (v - this.cy) / this.unit; };
  Map2.prototype.draw = function () {
    var d = this.data, x = d.x[this.a], y = d.x[this.b], k;
    for (k = 0; k < this.points.length; k++) {
      var node = this.points[k];
      node.setAttribute("x", this.px(x[k]).toFixed(2));
      node.setAttribute("y", this.py(y[k]).toFixed(2));
      node.classList.toggle("off", !!off[all.labels[k]]);
    }
    this.axes(); this.pairs(); this.rings(); this.ellipses();
    this.svg.querySelector(".xname").textContent = d.names[this.a] || "";
    this.svg.querySelector(".yname").textContent = d.names[this.b] || "";
  };
  Map2.prototype.axes = function () {
    var g = this.svg.querySelector(".axes"), f = this.data.frame, me = this;
    g.textContent = "";
    function along(from, to, each) { var s = step(to - from, 6); for (var k = Math.ceil(from / s); k * s <= to; k++) each(k * s); }
    var rx = (f.r - f.l) / 2 * me.unit, ry = (f.b - f.t) / 2 * me.unit;
    along(me.cx - rx, me.cx + rx, function (v) {
      var p = me.px(v);
      g.appendChild(make("path", { "class": "grid", d: "M" + p + " " + f.t + "V" + f.b }));
      g.appendChild(make("text", { "class": "mid", x: p, y: f.b + 17 }, shown(v)));
    });
    if (me.data.gram.length > 1) along(me.cy - ry, me.cy + ry, function (v) {
      var p = me.py(v);
      g.appendChild(make("path", { "class": "grid", d: "M" + f.l + " " + p + "H" + f.r }));
      g.appendChild(make("text", { "class": "end", x: f.l - 6, y: p + 4 }, shown(v)));
    });
  };
  Map2.prototype.pairs = function () {
    var lines = this.svg.querySelectorAll(".pairs path"), names = this.svg.querySelectorAll(".pairs text"), me = this;
    [this.data.diameter, this.data.margin].filter(Boolean).forEach(function (pair, k) {
      var x = me.data.x[me.a], y = me.data.x[me.b];
      var p = [me.px(x[pair[0]]), me.py(y[pair[0]]), me.px(x[pair[1]]), me.py(y[pair[1]])];
      if (!lines[k]) return;
      lines[k].setAttribute("d", "M" + p[0] + " " + p[1] + "L" + p[2] + " " + p[3]);
      names[k].setAttribute("x", (p[0] + p[2]) / 2);
      names[k].setAttribute("y", (p[1] + p[3]) / 2 - 8);
    });
  };
  Map2.prototype.rings = function () {
    var rings = this.svg.querySelectorAll(".ring"), me = this;
    this.data.rings.forEach(function (row, k) {
      if (!rings[k]) return;
      rings[k].setAttribute("cx", me.px(me.data.x[me.a][row]));
      rings[k].setAttribute("cy", me.py(me.data.x[me.b][row]));
      rings[k].style.display = off[all.labels[row]] ? "none" : "";
    });
  };
  Map2.prototype.ellipses = function () {
    var d = this.data, g = d.gram, a = this.a, b = this.b, me = this;
    if (g.length < 2) return;
    this.svg.querySelectorAll(".ellipse").forEach(function (node, c) {
      var path = "";
      for (var k = 0; k <= 72; k++) {
        var t = k * Math.PI / 36, cos = Math.cos(t), sin = Math.sin(t);
        var size = Math.sqrt(Math.max(0, g[a][a] * cos * cos + 2 * g[a][b] * cos * sin + g[b][b] * sin * sin));
        var r = Math.min(d.radius / size, 2000 * me.unit);
        path += (k ? "L" : "M") + me.px(d.centres[a][c] + r * cos).toFixed(1) + " " + me.py(d.centres[b][c] + r * sin).toFixed(1);
      }
      node.setAttribute("d", path);
      node.style.display = off[c] ? "none" : "";
    });
  };
  Map2.prototype.zoom = function (by, at) {
    if (at) { this.cx += (at[0] - this.cx) * (1 - by); this.cy += (at[1] - this.cy) * (1 - by); }
    this.unit *= by;
    this.draw();
  };
  Map2.prototype.place = function (event) {
    var box = this.svg.getBoundingClientRect(), view = this.svg.viewBox.baseVal, f = this.data.frame;
    var x = (event.clientX - box.left) * view.width / box.width, y = (event.clientY - box.top) * view.height / box.height;
    return [this.cx + (x - (f.l + f.r) / 2) * this.unit, this.cy - (y - (f.t + f.b) / 2) * this.unit, view.width / box.width];
  };
  Map2.prototype.point = function (k) {
    var old = this.points[this.current], node = this.points[k];
    if (old) old.classList.remove("at");
    this.current = k;
    if (!node) return hide();
    node.classList.add("at");
    var box = node.getBoundingClientRect();
    show(told(node), box.left + box.width / 2, box.top);
  };
  Map2.prototype.next = function (by) {
    var n = this.points.length, k = this.current;
    for (var tried = 0; tried < n; tried++) {
      k = (k + by + n) % n;
      if (!off[all.labels[k]]) return this.point(k);
    }
  };
  Map2.prototype.listen = function () {
    var me = this, drag = null, tools = document.querySelector("#" + this.data.id + " .tools");
    tools.addEventListener("change", function (event) {
      me[event.target.dataset.axis] = +event.target.value;
      me.fit(); me.draw();
    });
    tools.addEventListener("click", function (event) {
      var what = event.target.dataset.zoom;
      if (what === "in") me.zoom(1 / 1.5); else if (what === "out") me.zoom(1.5); else if (what) { me.fit(); me.draw(); }
    });
    this.svg.addEventListener("wheel", function (event) {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== me.svg) return;
      event.preventDefault();
      me.zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, me.place(event));
    }, { passive: false });
    this.svg.addEventListener("pointerdown", function (event) { if (event.pointerType === "mouse") drag = me.place(event); });
    window.addEventListener("pointerup", function () { drag = null; });
    this.svg.addEventListener("pointermove", function (event) {
      if (!drag) return;
      var now = me.place(event);
      me.cx += drag[0] - now[0]; me.cy += drag[1] - now[1];
      me.draw();
    });
    this.svg.addEventListener("keydown", function (event) {
      var key = event.key;
      if (key === "ArrowRight" || key === "ArrowDown") me.next(1);
      else if (key === "ArrowLeft" || key === "ArrowUp") me.next(me.current < 0 ? 0 : -1);
      else if (key === "+" || key === "=") me.zoom(1 / 1.5);
      else if (key === "-") me.zoom(1.5);
      else if (key === "0") { me.fit(); me.draw(); }
      else return;
      event.preventDefault();
    });
    this.svg.addEventListener("blur", function () { me.point(-1); hide(); });
  };
  all.maps.forEach(function (data) { maps.push(new Map2(data)); });
  document.querySelectorAll(".key[data-class]").forEach(function (key) {
    key.disabled = false;
    key.addEventListener("click", function () {
      var c = key.dataset.class;
      off[c] = !off[c];
      key.setAttribute("aria-pressed", String(!off[c]));
      maps.forEach(function (map) { map.draw(); });
    });
  });
})();
