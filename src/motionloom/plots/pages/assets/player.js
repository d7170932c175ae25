/* Stick-figure player, drawn on a plain canvas without dependencies.
 *
 * A clip is an object written by player.py: quantized point positions, the bones between
 * them, and captions. `MotionloomPlayer.mountAll(scope)` turns every element
 * `.motionloom-player[data-clip]` in `scope` into a player.
 */
var MotionloomPlayer = (function () {
  "use strict";

  const MISSING = -32768;
  const FIELD_OF_VIEW = 0.5; // radians, along the shorter edge
  const TURN = 16; // milliseconds of drawing; the remaining figures wait for the next frame
  const HOLD = 0.5; // seconds for which the last pose is shown before the loop restarts
  const THEMES = {
    light: {
      paper: "#ffffff", grid: "120,130,150", shadow: "#d9dde4", path: "18,148,111",
      left: [47, 126, 216], middle: [61, 70, 83], right: [232, 103, 44],
    },
    dark: {
      paper: "#15181d", grid: "150,165,190", shadow: "#0a0c0f", path: "64,201,155",
      left: [98, 168, 247], middle: [199, 207, 219], right: [255, 142, 86],
    },
  };

  /* --- a clip, unpacked ---------------------------------------------------------------- */

  function unpack(clip) {
    const bytes = Uint8Array.from(atob(clip.data), (c) => c.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    const count = clip.frames * clip.points * 3;
    const positions = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      const value = view.getInt16(2 * i, true);
      positions[i] = value === MISSING ? NaN : value * clip.scale + clip.origin[i % 3];
    }
    const out = Object.assign({}, clip, { positions });
    out.duration = Math.max(clip.frames - 1, 0) / clip.fps;
    out.path = pathOf(out);
    out.target = followed(out);
    out.reach = reachOf(out);
    delete out.data;
    return out;
  }

  function pathOf(clip) {
    const path = new Float32Array(clip.frames * 3);
    for (let t = 0; t < clip.frames; t++)
      for (let c = 0; c < 3; c++)
        path[3 * t + c] = clip.positions[3 * (t * clip.points + clip.anchor) + c];
    return path;
  }

  /* Camera target: the path smoothed over most of a second, or its middle if the path is short. */
  function followed(clip) {
    const { path, frames, size, ground } = clip;
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < path.length; i++) {
      if (!(path[i] === path[i])) continue;
      low[i % 3] = Math.min(low[i % 3], path[i]);
      high[i % 3] = Math.max(high[i % 3], path[i]);
    }
    const stays = !(Math.max(high[0] - low[0], high[2] - low[2]) > 0.5 * size);
    const target = new Float32Array(frames * 3);
    const reach = Math.max(1, Math.round(0.45 * clip.fps));
    for (let t = 0; t < frames; t++) {
      for (let c = 0; c < 3; c++) {
        let sum = 0, n = 0;
        for (let k = Math.max(0, t - reach); k <= Math.min(frames - 1, t + reach); k++) {
          const value = path[3 * k + c];
          if (value === value) { sum += value; n++; }
        }
        let value = n ? sum / n : 0;
        if (stays && c !== 1) value = low[c] <= high[c] ? (low[c] + high[c]) / 2 : 0;
        if (c === 1) value = Math.max(ground + 0.47 * size, value - 0.15 * size);
        target[3 * t + c] = value;
      }
    }
    return target;
  }

  /* Largest distance of the body from the camera target, which must fit into the picture. */
  function reachOf(clip) {
    let farthest = 0;
    for (let t = 0; t < clip.frames; t++)
      for (let p = 0; p < clip.points; p++) {
        const i = 3 * (t * clip.points + p);
        const aside = Math.hypot(
          clip.positions[i] - clip.target[3 * t], clip.positions[i + 2] - clip.target[3 * t + 2]);
        const above = Math.abs(clip.positions[i + 1] - clip.target[3 * t + 1]);
        // The camera looks slightly down, so points that are to the side and near also appear lower.
        const far = Math.max(0.85 * aside, above + 0.3 * aside);
        if (far > farthest) farthest = far;
      }
    return Math.min(Math.max(farthest, 0.5 * clip.size), 1.2 * clip.size);
  }

  /* A smooth curve through the stored frames (Catmull-Rom), with `width` numbers per frame. */
  function sample(values, frames, width, at, out) {
    const i = Math.max(0, Math.min(Math.floor(at), frames - 1)), u = at - i;
    const a = Math.max(i - 1, 0) * width, b = i * width;
    const c = Math.min(i + 1, frames - 1) * width, d = Math.min(i + 2, frames - 1) * width;
    const u2 = u * u, u3 = u2 * u;
    const wa = -0.5 * u3 + u2 - 0.5 * u, wb = 1.5 * u3 - 2.5 * u2 + 1;
    const wc = -1.5 * u3 + 2 * u2 + 0.5 * u, wd = 0.5 * u3 - 0.5 * u2;
    for (let k = 0; k < width; k++) {
      const p = values[b + k], q = values[c + k];
      const before = values[a + k], after = values[d + k];
      const curved = wa * before + wb * p + wc * q + wd * after;
      out[k] = curved === curved ? curved : p + u * (q - p);
    }
    return out;
  }

  /* --- the picture ---------------------------------------------------------------------- */

  class Stage {
    constructor(canvas, clip) {
      this.canvas = canvas;
      this.clip = clip;
      this.pose = new Float32Array(clip.points * 3);
      this.look = new Float32Array(3);
      this.reset();
    }

    reset() {
      this.yaw = this.clip.yaw;
      this.pitch = 0.2;
      this.zoom = 1;
    }

    /* Resize the canvas to the element; return true if the element has a size. */
    fit() {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const w = Math.round(this.canvas.clientWidth * ratio);
      const h = Math.round(this.canvas.clientHeight * ratio);
      if (w && h && (this.canvas.width !== w || this.canvas.height !== h)) {
        this.canvas.width = w;
        this.canvas.height = h;
      }
      return w > 0 && h > 0;
    }

    draw(seconds, theme) {
      if (!this.fit()) return;
      const { canvas, clip } = this;
      const at = Math.min(Math.max(seconds, 0), clip.duration) * clip.fps;
      sample(clip.positions, clip.frames, clip.points * 3, at, this.pose);
      sample(clip.target, clip.frames, 3, at, this.look);
      const pen = canvas.getContext("2d");
      pen.fillStyle = theme.paper;
      pen.fillRect(0, 0, canvas.width, canvas.height);
      pen.lineCap = "round";
      pen.lineJoin = "round";
      this.aim();
      this.drawGrid(pen, theme);
      this.drawShadow(pen, theme);
      this.drawPath(pen, theme, at);
      this.drawFigure(pen, theme);
    }

    aim() {
      const { canvas, clip, yaw, pitch } = this;
      const near = [-Math.cos(yaw), 0, Math.sin(yaw)];
      this.right = [Math.sin(yaw), 0, Math.cos(yaw)];
      const cp = Math.cos(pitch), sp = Math.sin(pitch);
      this.up = [-sp * near[0], cp, -sp * near[2]];
      this.near = [cp * near[0], sp, cp * near[2]];
      const edge = Math.min(canvas.width, canvas.height);
      this.focal = (0.5 * edge) / Math.tan(FIELD_OF_VIEW / 2);
      this.distance = (1.06 * clip.reach / Math.tan(FIELD_OF_VIEW / 2)) / this.zoom;
    }

    /* Return screen x, y and distance; points with distance <= 0 are behind the camera. */
    project(x, y, z, out) {
      const dx = x - this.look[0], dy = y - this.look[1], dz = z - this.look[2];
      const r = this.right, u = this.up, n = this.near;
      const away = this.distance - (dx * n[0] + dy * n[1] + dz * n[2]);
      const f = this.focal / Math.max(away, 1e-9);
      out[0] = this.canvas.width / 2 + f * (dx * r[0] + dz * r[2]);
      out[1] = this.canvas.height / 2 - f * (dx * u[0] + dy * u[1] + dz * u[2]);
      out[2] = away < 0.05 * this.distance ? -1 : away;
      return out;
    }

    drawGrid(pen, theme) {
      const { clip, look } = this;
      const step = clip.grid, reach = 2.6 * clip.size, pieces = 12;
      const a = [0, 0, 0], b = [0, 0, 0];
      const shades = [[], [], [], []];
      for (const axis of [0, 2]) {
        const other = 2 - axis;
        const first = Math.ceil((look[axis] - reach) / step);
        const last = Math.floor((look[axis] + reach) / step);
        for (let k = first; k <= last; k++) {
          for (let s = 0; s < pieces; s++) {
            const from = look[other] - reach + (2 * reach * s) / pieces;
            const to = from + (2 * reach) / pieces;
            const gone = Math.hypot(k * step - look[axis], (from + to) / 2 - look[other]) / reach;
            const shade = Math.floor((1 - gone) * 4);
            if (shade < 0) continue;
            const p = [0, clip.ground, 0], q = [0, clip.ground, 0];
            p[axis] = q[axis] = k * step;
            p[other] = from;
            q[other] = to;
            if (this.project(p[0], p[1], p[2], a)[2] < 0) continue;
            if (this.project(q[0], q[1], q[2], b)[2] < 0) continue;
            shades[Math.min(shade, 3)].push(a[0], a[1], b[0], b[1]);
          }
        }
      }
      pen.lineWidth = Math.max(1, this.canvas.width / 700);
      shades.forEach((lines, shade) => {
        pen.strokeStyle = `rgba(${theme.grid},${0.05 + 0.08 * shade})`;
        pen.beginPath();
        for (let i = 0; i < lines.length; i += 4) {
          pen.moveTo(lines[i], lines[i + 1]);
          pen.lineTo(lines[i + 2], lines[i + 3]);
        }
        pen.stroke();
      });
    }

    drawShadow(pen, theme) {
      const { clip, pose } = this;
      const a = [0, 0, 0], b = [0, 0, 0];
      pen.strokeStyle = theme.shadow;
      for (const [from, to, , width] of clip.bones) {
        this.project(pose[3 * from], clip.ground, pose[3 * from + 2], a);
        this.project(pose[3 * to], clip.ground, pose[3 * to + 2], b);
        if (!(a[2] > 0 && b[2] > 0 && a[0] + b[0] === a[0] + b[0])) continue;
        pen.lineWidth = (0.9 * width * this.focal) / a[2];
        pen.beginPath();
        pen.moveTo(a[0], a[1]);
        pen.lineTo(b[0] + 0.01, b[1]);
        pen.stroke();
      }
    }

    drawPath(pen, theme, at) {
      const { clip } = this;
      const now = Math.round(at), memory = Math.max(1, Math.round(6 * clip.fps));
      const first = Math.max(0, now - memory), last = Math.min(clip.frames - 1, now + memory);
      const a = [0, 0, 0], b = [0, 0, 0];
      const piece = (t) => {
        this.project(clip.path[3 * t], clip.ground, clip.path[3 * t + 2], a);
        this.project(clip.path[3 * t + 3], clip.ground, clip.path[3 * t + 5], b);
        if (!(a[2] > 0 && b[2] > 0 && a[0] + b[0] === a[0] + b[0])) return;
        pen.moveTo(a[0], a[1]);
        pen.lineTo(b[0], b[1]);
      };
      const width = (clip.size * this.focal) / this.distance;
      pen.strokeStyle = `rgba(${theme.path},0.2)`;
      pen.lineWidth = 0.006 * width;
      pen.beginPath();
      for (let t = now; t < last; t++) piece(t);
      pen.stroke();
      const color = theme.path.split(","), paper = rgb(theme.paper);
      pen.lineWidth = 0.014 * width;
      for (let t = first; t < now; t++) {
        // Colors are mixed because overlapping transparent round ends would look like beads.
        const share = 0.95 - 0.85 * ((now - t) / memory);
        const mixed = color.map((c, i) => Math.round(share * c + (1 - share) * paper[i]));
        pen.strokeStyle = `rgb(${mixed})`;
        pen.beginPath();
        piece(t);
        pen.stroke();
      }
    }

    drawFigure(pen, theme) {
      const { clip, pose } = this;
      const seen = [];
      for (let i = 0; i < clip.points; i++)
        seen.push(this.project(pose[3 * i], pose[3 * i + 1], pose[3 * i + 2], [0, 0, 0]));
      const strokes = [];
      for (const [from, to, side, width] of clip.bones)
        strokes.push({ a: seen[from], b: seen[to], side, width });
      if (clip.head) {
        const [from, to, width] = clip.head;
        const [p, q] = [3 * from, 3 * to];
        const end = (s) =>
          this.project(
            pose[p] + s * (pose[q] - pose[p]), pose[p + 1] + s * (pose[q + 1] - pose[p + 1]),
            pose[p + 2] + s * (pose[q + 2] - pose[p + 2]), [0, 0, 0]);
        strokes.push({ a: end(0.55), b: end(0.67), side: 0, width });
      }
      const whole = strokes.filter((s) => {
        s.away = (s.a[2] + s.b[2]) / 2;
        return s.a[2] > 0 && s.b[2] > 0 && s.a[0] + s.b[0] === s.a[0] + s.b[0];
      });
      whole.sort((s, t) => t.away - s.away);
      const nearest = whole.length ? whole[whole.length - 1].away : 0;
      const paper = rgb(theme.paper);
      for (const s of whole) this.drawBone(pen, theme, paper, s, nearest);
    }

    /* Draw a limb, with an outline in the background color that separates it from parts behind it. */
    drawBone(pen, theme, paper, s, nearest) {
      const width = Math.max((s.width * this.focal) / s.away, 1);
      const edge = (0.009 * this.clip.size * this.focal) / s.away;
      const dx = s.b[0] - s.a[0], dy = s.b[1] - s.a[1], length = Math.hypot(dx, dy);
      const cut = (width / 2 + edge) / Math.max(length, 1e-6);
      if (cut < 0.5) {
        pen.strokeStyle = theme.paper;
        pen.lineWidth = width + 2 * edge;
        pen.beginPath();
        pen.moveTo(s.a[0] + cut * dx, s.a[1] + cut * dy);
        pen.lineTo(s.b[0] - cut * dx, s.b[1] - cut * dy);
        pen.stroke();
      }
      const own = s.side > 0 ? theme.left : s.side < 0 ? theme.right : theme.middle;
      const haze = 0.4 * Math.min(1, (s.away - nearest) / (0.5 * this.clip.size));
      const mixed = own.map((c, i) => Math.round(c + haze * (paper[i] - c)));
      pen.strokeStyle = `rgb(${mixed})`;
      pen.lineWidth = width;
      pen.beginPath();
      pen.moveTo(s.a[0], s.a[1]);
      pen.lineTo(s.b[0] + (length ? 0 : 0.01), s.b[1]);
      pen.stroke();
    }
  }

  function rgb(hex) {
    return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  }

  /* Choose light or dark from the nearest background behind the element, or else from the page. */
  function themeOf(element) {
    for (let e = element; e; e = e.parentElement) {
      const parts = getComputedStyle(e).backgroundColor.match(/[\d.]+/g);
      if (!parts || (parts.length > 3 && Number(parts[3]) < 0.5)) continue;
      const light = 0.3 * parts[0] + 0.6 * parts[1] + 0.1 * parts[2];
      return light < 110 ? "dark" : "light";
    }
    const scheme = getComputedStyle(document.documentElement).colorScheme || "";
    const wish = window.matchMedia && matchMedia("(prefers-color-scheme: dark)").matches;
    return wish && scheme.includes("dark") ? "dark" : "light";
  }

  /* --- one clock for all ---------------------------------------------------------------- */

  const running = new Set();
  let ticking = false, before = 0;

  function tick(now) {
    const passed = Math.min((now - before) / 1000, 0.1);
    before = now;
    // On a slow machine, small figures take turns, so that the page stays responsive.
    const until = performance.now() + TURN;
    for (const one of Array.from(running)) one.advance(passed, performance.now() > until);
    ticking = running.size > 0;
    if (ticking) requestAnimationFrame(tick);
  }

  function run(one) {
    running.add(one);
    if (!ticking) {
      ticking = true;
      before = performance.now();
      requestAnimationFrame(tick);
    }
  }

  if (window.matchMedia)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      for (const one of running) one.recolor();
    });

  const still = () => window.matchMedia && matchMedia("(prefers-reduced-motion: reduce)").matches;

  function looped(time, duration) {
    return time > duration + HOLD ? 0 : time;
  }

  /* --- a player with controls ----------------------------------------------------------- */

  class Player {
    constructor(root, clip, options) {
      this.root = root;
      this.clip = unpack(clip);
      this.greedy = Boolean(options && options.greedy);
      this.time = 0;
      this.speed = 1;
      this.playing = this.clip.frames > 1 && !still();
      this.visible = false;
      this.build();
      this.stage = new Stage(this.canvas, this.clip);
      this.listen();
      this.update();
    }

    build() {
      const make = (tag, name, text) => {
        const element = document.createElement(tag);
        if (name) element.className = "motionloom-" + name;
        if (text !== undefined) element.textContent = text;
        return element;
      };
      this.root.textContent = "";
      this.root.tabIndex = 0;
      this.root.dataset.theme = themeOf(this.root.parentElement || this.root);
      this.canvas = make("canvas", "canvas");
      this.canvas.title = "drag to turn, wheel to zoom, double-click to reset";
      const head = make("div", "head");
      head.append(make("strong", "", this.clip.name), make("span", "facts", this.clip.facts));
      const bar = make("div", "bar");
      this.button = make("button", "play");
      this.slider = make("input", "slider");
      this.clock = make("span", "clock");
      this.pace = make("button", "pace", "1×");
      this.button.type = this.pace.type = "button";
      this.button.title = "play or pause (space)";
      this.pace.title = "speed";
      Object.assign(this.slider, { type: "range", min: 0, max: this.clip.duration || 1, step: "any" });
      this.slider.setAttribute("aria-label", "time");
      bar.append(this.button, this.slider, this.clock, this.pace);
      this.root.append(this.canvas, head, bar);
      if (this.clip.note) this.root.append(make("div", "note", this.clip.note));
    }

    listen() {
      const { canvas, stage } = this;
      this.button.onclick = () => this.toggle();
      this.pace.onclick = () => {
        this.speed = this.speed > 0.3 ? this.speed / 2 : 1;
        this.pace.textContent = this.speed === 1 ? "1×" : this.speed === 0.5 ? "½×" : "¼×";
      };
      this.slider.oninput = () => this.seek(Number(this.slider.value));
      this.root.onkeydown = (event) => {
        if (event.key === " " && event.target !== this.button && event.target !== this.pace)
          this.toggle();
        else if (event.key === "ArrowLeft" || event.key === "ArrowRight")
          this.seek(this.time + (event.key === "ArrowLeft" ? -1 : 1) / this.clip.fps);
        else return;
        event.preventDefault();
        event.stopPropagation(); // notebooks use these keys for other purposes
      };
      canvas.onpointerdown = (event) => {
        canvas.setPointerCapture(event.pointerId);
        this.root.focus({ preventScroll: true });
        event.preventDefault();
      };
      canvas.onpointermove = (event) => {
        if (!event.buttons) return;
        stage.yaw -= event.movementX * 0.01;
        stage.pitch = Math.min(1.5, Math.max(-0.3, stage.pitch + event.movementY * 0.007));
        this.update();
      };
      canvas.ondblclick = () => { stage.reset(); this.update(); };
      const wheel = (event) => {
        // In a page that scrolls, the wheel zooms only after the player was clicked.
        if (!this.greedy && !this.root.contains(document.activeElement)) return;
        event.preventDefault();
        stage.zoom = Math.min(6, Math.max(0.15, stage.zoom * Math.exp(-event.deltaY * 0.0012)));
        this.update();
      };
      canvas.addEventListener("wheel", wheel, { passive: false });
      this.watch = new IntersectionObserver((entries) => {
        this.visible = entries[entries.length - 1].isIntersecting;
        if (this.visible) this.update();
        if (this.visible && this.playing) run(this);
      });
      this.watch.observe(canvas);
      this.resized = new ResizeObserver(() => this.update());
      this.resized.observe(canvas);
    }

    recolor() {
      this.root.dataset.theme = themeOf(this.root.parentElement || this.root);
      this.update();
    }

    toggle() {
      this.playing = !this.playing && this.clip.frames > 1;
      if (this.playing && this.time >= this.clip.duration) this.time = 0;
      if (this.playing) run(this);
      this.update();
    }

    seek(time) {
      this.playing = false;
      this.time = Math.min(Math.max(time, 0), this.clip.duration);
      this.update();
    }

    advance(passed) {
      if (!this.playing || !this.visible || !this.root.isConnected) {
        running.delete(this);
        return;
      }
      this.time = looped(this.time + passed * this.speed, this.clip.duration);
      this.update();
    }

    update() {
      const time = Math.min(this.time, this.clip.duration);
      this.stage.draw(time, THEMES[this.root.dataset.theme]);
      this.slider.value = time;
      this.slider.disabled = this.clip.frames < 2;
      this.button.textContent = this.playing ? "❚❚" : "▶";
      this.button.setAttribute("aria-label", this.playing ? "pause" : "play");
      this.clock.textContent = (this.clip.start + time).toFixed(2) + " s";
    }

    close() {
      running.delete(this);
      this.playing = false;
      this.watch.disconnect();
      this.resized.disconnect();
    }
  }

  /* --- a small figure without controls -------------------------------------------------- */

  class Miniature {
    constructor(canvas, clip) {
      this.canvas = canvas;
      this.clip = unpack(clip);
      this.stage = new Stage(canvas, this.clip);
      this.time = still() ? 0.35 * this.clip.duration : 0;
      this.late = 0;
      this.recolor();
      if (this.clip.frames > 1 && !still()) run(this);
    }

    advance(passed, busy) {
      this.time = looped(this.time + passed, this.clip.duration);
      this.late += passed;
      if (busy || this.late < 1 / 31) return; // 30 images per second are enough
      this.late = 0;
      running.delete(this); // to the end of the queue
      running.add(this);
      this.show();
    }

    show() {
      this.stage.draw(Math.min(this.time, this.clip.duration), THEMES[this.theme]);
    }

    recolor() {
      this.theme = themeOf(this.canvas);
      this.show();
    }

    close() {
      running.delete(this);
    }
  }

  function mountAll(scope) {
    for (const root of scope.querySelectorAll(".motionloom-player[data-clip]")) {
      if (root.motionloom) continue;
      root.motionloom = new Player(root, JSON.parse(root.dataset.clip));
    }
  }

  return { Player, Miniature, mountAll, unpack, sample };
})();
