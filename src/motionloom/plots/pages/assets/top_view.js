// Crowd seen from above: position and heading of each agent, ten times per second, interpolated.
(function () {
  "use strict";
  const scene = JSON.parse(document.querySelector('script[type="application/json"]').textContent);
  const bytes = Uint8Array.from(atob(scene.places), (c) => c.charCodeAt(0));
  const places = new Int32Array(bytes.buffer);
  const canvas = document.querySelector("canvas"), pen = canvas.getContext("2d");
  const button = document.querySelector("button"), slider = document.querySelector("input");
  const clock = document.querySelector("output");
  const wide = scene.high[0] - scene.low[0], deep = scene.high[1] - scene.low[1];
  const scale = 720 / Math.max(wide, deep), dots = window.devicePixelRatio || 1;
  canvas.width = Math.round(wide * scale * dots);
  canvas.height = Math.round(deep * scale * dots);
  canvas.style.width = Math.round(wide * scale) + "px";
  const length = (scene.frames - 1) / scene.rate;
  slider.max = String(length);

  const at = (agent, body, frame) =>
    3 * ((agent * scene.bodies + body) * scene.frames + frame);

  function place(agent, body, time) {
    const exact = Math.min(Math.max(time * scene.rate, 0), scene.frames - 1);
    const before = Math.min(Math.floor(exact), Math.max(scene.frames - 2, 0));
    const a = at(agent, body, before), b = at(agent, body, Math.min(before + 1, scene.frames - 1));
    const part = exact - before;
    let turn = places[b + 2] - places[a + 2];
    turn -= 2000 * Math.PI * Math.round(turn / (2000 * Math.PI));
    return [
      (places[a] + part * (places[b] - places[a])) / 100,
      (places[a + 1] + part * (places[b + 1] - places[a + 1])) / 100,
      (places[a + 2] + part * turn) / 1000,
    ];
  }

  function middle(agent, time) {
    let x = 0, z = 0;
    for (let body = 0; body < scene.bodies; body++) {
      const [u, v] = place(agent, body, time);
      x += u / scene.bodies;
      z += v / scene.bodies;
    }
    return [x, z];
  }

  function disc(x, z, radius) {
    pen.beginPath();
    pen.arc(x, z, radius, 0, 2 * Math.PI);
  }

  function floor() {
    pen.strokeStyle = "#4d4d4d";
    pen.lineWidth = 2 / scale;
    if (scene.room) {
      pen.strokeRect(-scene.room[0] / 2, -scene.room[1] / 2, scene.room[0], scene.room[1]);
    }
    pen.fillStyle = "#8c8c8c";
    for (const [x, z, radius] of scene.columns) {
      disc(x, z, radius);
      pen.fill();
    }
    if (scene.line.length) {
      pen.strokeStyle = "#cccccc";
      pen.beginPath();
      for (const [x, z] of scene.line) pen.lineTo(x, z);
      pen.stroke();
    }
  }

  function draw(time) {
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(scale * dots, 0, 0, scale * dots, -scene.low[0] * scale * dots,
      -scene.low[1] * scale * dots);
    floor();
    for (let agent = 0; agent < scene.agents; agent++) {
      const color = scene.colors[agent % scene.colors.length];
      pen.strokeStyle = pen.fillStyle = color;
      pen.lineWidth = 1.2 / scale;
      pen.globalAlpha = 0.55;
      pen.beginPath();
      for (let then = Math.max(0, time - scene.trail); then < time; then += 0.1) {
        pen.lineTo(...middle(agent, then));
      }
      pen.stroke();
      disc(...middle(agent, time), scene.radius);
      pen.globalAlpha = 0.18;
      pen.fill();
      pen.globalAlpha = 1;
      pen.stroke();
      for (let body = 0; body < scene.bodies; body++) {
        const [x, z, yaw] = place(agent, body, time);
        const c = Math.cos(yaw), s = Math.sin(yaw);
        pen.globalAlpha = body === 0 ? 1 : 0.55;
        pen.beginPath();
        for (const [left, ahead] of scene.outline) {
          pen.lineTo(x + c * left + s * ahead, z - s * left + c * ahead);
        }
        pen.closePath();
        pen.fill();
      }
      pen.globalAlpha = 1;
    }
    clock.textContent = time.toFixed(1) + " / " + length.toFixed(1) + " s";
  }

  let playing = true, time = 0, last = null;
  button.addEventListener("click", () => {
    playing = !playing;
    button.textContent = playing ? "pause" : "play";
  });
  slider.addEventListener("input", () => { time = Number(slider.value); });
  function step(now) {
    if (playing && last !== null) time += (now - last) / 1000;
    if (time > length) time = 0;
    last = now;
    slider.value = String(time);
    draw(time);
    requestAnimationFrame(step);
  }
  requestAnimationFrame(step);
})();
