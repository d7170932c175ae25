/* Contact sheet: small figures that move while they are visible, a filter, and a large view. */
(function () {
  "use strict";

  const cards = Array.from(document.querySelectorAll(".clip"));
  const find = (id) => document.getElementById(id);
  const live = new Map(); // map from card to its running figure
  const chosen = new Set(); // labels that a clip must have
  const MOST_LABELS = 40;

  const labelsOf = (card) => Array.from(card.querySelectorAll(".chip"), (c) => c.textContent);
  const shown = () => cards.filter((card) => !card.hidden);

  /* --- move only visible figures -------------------------------------------------------- */

  const sight = new IntersectionObserver((entries) => {
    for (const { target: card, isIntersecting } of entries) {
      const running = live.get(card);
      if (isIntersecting && !running) {
        const clip = JSON.parse(card.dataset.clip);
        live.set(card, new MotionloomPlayer.Miniature(card.querySelector("canvas"), clip));
      } else if (!isIntersecting && running) {
        running.close();
        live.delete(card);
      }
    }
  }, { rootMargin: "80px" });
  cards.forEach((card) => sight.observe(card));

  /* --- the filter ----------------------------------------------------------------------- */

  function filter() {
    const words = find("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const card of cards) {
      const text = card.querySelector(".words").textContent.toLowerCase();
      const labels = labelsOf(card);
      const fits = words.every((word) => text.includes(word));
      card.hidden = !(fits && Array.from(chosen).every((label) => labels.includes(label)));
    }
    const left = shown().length;
    const all = cards.length === 1 ? "1 clip" : `${cards.length.toLocaleString("en")} clips`;
    find("count").textContent = left === cards.length ? all : `${left.toLocaleString("en")} of ${all}`;
    find("nothing").hidden = left > 0 || cards.length === 0;
    for (const button of find("labels").children)
      button.setAttribute("aria-pressed", String(chosen.has(button.dataset.label)));
  }

  function choose(label) {
    if (!chosen.delete(label)) chosen.add(label);
    filter();
  }

  const counts = new Map();
  for (const card of cards)
    for (const label of labelsOf(card)) counts.set(label, (counts.get(label) || 0) + 1);
  const common = Array.from(counts).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  for (const [label, count] of common.slice(0, MOST_LABELS)) {
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.label = label;
    button.textContent = `${label} ${count}`;
    button.onclick = () => choose(label);
    find("labels").append(button);
  }
  find("filter").oninput = filter;
  find("size").oninput = (event) =>
    document.documentElement.style.setProperty("--cell", event.target.value + "px");

  /* --- the large view ------------------------------------------------------------------- */

  const dialog = find("large");
  let open = null, player = null;

  function enlarge(card) {
    if (player) player.close();
    open = card;
    if (!dialog.open) dialog.showModal();
    player = new MotionloomPlayer.Player(find("player"), JSON.parse(card.dataset.clip), { greedy: true });
    find("about").textContent = labelsOf(card).join(" · ");
    find("player").focus();
  }

  function step(by) {
    const list = shown();
    const next = list[(list.indexOf(open) + by + list.length) % list.length];
    if (next) enlarge(next);
  }

  dialog.onclose = () => {
    if (player) player.close();
    player = null;
    if (open) open.focus();
  };
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); };
  find("previous").onclick = () => step(-1);
  find("next").onclick = () => step(1);
  find("close").onclick = () => dialog.close();
  for (const card of cards) {
    card.onclick = (event) => {
      if (event.target.className === "chip") choose(event.target.textContent);
      else enlarge(card);
    };
    card.onkeydown = (event) => { if (event.key === "Enter") enlarge(card); };
  }
  document.onkeydown = (event) => {
    if (dialog.open && (event.key === "PageUp" || event.key === "PageDown")) {
      step(event.key === "PageUp" ? -1 : 1);
      event.preventDefault();
    } else if (!dialog.open && event.key === "/" && document.activeElement !== find("filter")) {
      find("filter").focus();
      event.preventDefault();
    }
  };
  filter();
})();
