// Draws the best speed over the values of two parameters, which the reader picks.
"use strict";
for (const box of document.querySelectorAll(".heat")) {
  const data = JSON.parse(box.querySelector("script").textContent);
  if (data.names.length < 2) {
    box.remove();
    continue;
  }
  const pick = (label, chosen) => {
    const select = document.createElement("select");
    data.names.forEach((name, n) => select.add(new Option(name, n, false, n === chosen)));
    const around = document.createElement("label");
    around.append(label + " ", select);
    box.querySelector(".picks").append(around, " ");
    select.addEventListener("change", draw);
    return select;
  };
  const byNumber = (a, b) => {
    const x = a.split("x").map(Number), y = b.split("x").map(Number);
    for (let n = 0; n < Math.max(x.length, y.length); n++) {
      const d = (x[n] ?? 0) - (y[n] ?? 0);
      if (Number.isNaN(d)) return a < b ? -1 : a > b ? 1 : 0;
      if (d !== 0) return d;
    }
    return 0;
  };
  const rows = pick("rows:", 0), columns = pick("columns:", 1);
  const ink = (t) => `hsl(${250 - 200 * t} 65% ${28 + 42 * t}%)`;

  function draw() {
    const r = Number(rows.value), c = Number(columns.value);
    const best = new Map(), seen = new Map();
    let low = Infinity, high = 0;
    data.rows.forEach((row, n) => {
      const key = row[r] + "\n" + row[c];
      seen.set(key, (seen.get(key) ?? 0) + 1);
      const speed = data.speeds[n];
      if (speed !== null && speed > (best.get(key) ?? 0)) best.set(key, speed);
    });
    for (const v of best.values()) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    const values = (at) => [...new Set(data.rows.map((row) => row[at]))].sort(byNumber);
    const table = document.createElement("table");
    const head = table.insertRow();
    head.insertCell().textContent = data.names[r] + " \\ " + data.names[c];
    for (const v of values(c)) head.insertCell().textContent = v === "" ? "–" : v;
    for (const y of values(r)) {
      const line = table.insertRow();
      line.insertCell().textContent = y === "" ? "–" : y;
      for (const x of values(c)) {
        const cell = line.insertCell(), key = y + "\n" + x;
        const speed = best.get(key);
        if (speed !== undefined) {
          const t = high > low ? (speed - low) / (high - low) : 1;
          cell.style.background = ink(t);
          cell.style.color = t > 0.5 ? "#000" : "#fff";
          cell.textContent = speed.toPrecision(3);
        } else if (seen.has(key)) {
          cell.textContent = "×";
        }
        cell.title = `${seen.get(key) ?? 0} trials`;
      }
    }
    box.querySelector(".map").replaceChildren(table);
  }
  draw();
}
