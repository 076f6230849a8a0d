// Makes rating faster and keeps an answer when the connection is lost. Everything also works without this file.
(() => {
  "use strict";
  const body = document.body;
  const notice = document.getElementById("notice");
  const prefix = `trubleu:${body.dataset.page}:`;
  const SETTLE = 350; // milliseconds after a new task in which keys do nothing: they were meant for the last one
  const LONGEST_WAIT = 30;

  // Storage may be switched off or full; then answers are kept as long as the page is open.
  const memory = new Map();
  const kept = {
    set(key, value) {
      memory.set(key, value);
      try { localStorage.setItem(key, value); } catch { /* kept in memory */ }
    },
    get(key) {
      try { return localStorage.getItem(key) ?? memory.get(key) ?? null; } catch { return memory.get(key) ?? null; }
    },
    remove(key) {
      memory.delete(key);
      try { localStorage.removeItem(key); } catch { /* it was never there */ }
    },
    waiting() {
      const keys = new Set(memory.keys());
      try { Object.keys(localStorage).forEach((key) => keys.add(key)); } catch { /* only those in memory */ }
      return [...keys].filter((key) => body.dataset.page && key.startsWith(prefix));
    },
  };

  // How long a task has been looked at: time in which the page is hidden does not count.
  let task = null;
  let seen = 0;
  let since = performance.now();
  let shown = performance.now();
  const looked = () => seen + (document.hidden ? 0 : performance.now() - since);
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) seen += performance.now() - since;
    since = performance.now();
  });

  const main = () => document.getElementById("main");
  const form = () => document.querySelector("form[data-answer]");
  const say = (text) => { if (notice.textContent !== text) notice.textContent = text; };

  function begin() {
    const key = main()?.dataset.key ?? null;
    if (key !== task) {
      task = key;
      seen = 0;
      since = performance.now();
    }
    shown = performance.now();
    document.querySelectorAll(".keys").forEach((keys) => { keys.hidden = false; });
    document.querySelector("[data-keys]")?.setAttribute("aria-pressed", String(keysOn()));
    tellOrder();
    place();
  }

  // Where texts are longer than their box, the last thing said and the response are seen first, and a little of what
  // was said before. If both are too long, the response is seen whole.
  function place() {
    const box = document.querySelector(".reading");
    if (!box || box.querySelector(".warning, .earlier")) return;
    const responses = box.querySelector(".responses").getBoundingClientRect();
    const said = box.querySelector(".chat li:last-child")?.getBoundingClientRect() ?? responses;
    const top = box.querySelector(".progress").getBoundingClientRect().bottom;
    const bottom = box.getBoundingClientRect().bottom - parseFloat(getComputedStyle(box).paddingBottom);
    const fits = responses.height <= bottom - top;
    box.scrollTop += Math.max(0, said.top - top - 28, fits ? responses.bottom - bottom : 0);
  }

  function show(page, address) {
    document.title = page.title;
    main().replaceWith(document.adoptNode(page.getElementById("main")));
    const top = page.querySelector(".top");
    if (top) document.querySelector(".top").replaceWith(document.adoptNode(top));
    history.replaceState(null, "", address);
    window.scrollTo(0, 0);
    begin();
    document.querySelector("main h1")?.focus({ preventScroll: true });
  }

  // Sending. The key in the form makes an answer count once, however often it is sent.
  let busy = false;
  let timer = 0;
  let tries = 0;

  function lock(on) {
    busy = on;
    document.querySelectorAll("main button").forEach((button) => { button.disabled = on; });
  }

  function later(text, seconds) {
    tries += 1;
    const wait = seconds || Math.min(2 ** tries, LONGEST_WAIT);
    say(`${text} Your answer is kept here and will be sent again by itself.`);
    clearTimeout(timer);
    timer = setTimeout(next, wait * 1000);
  }

  async function send(key) {
    const { action, fields } = JSON.parse(kept.get(key));
    let response, text;
    try {
      response = await fetch(action, {
        method: "POST", body: new URLSearchParams(fields), credentials: "same-origin", signal: AbortSignal.timeout(30000),
      });
      text = await response.text();
    } catch {
      return later("No connection.");
    }
    const page = new DOMParser().parseFromString(text, "text/html");
    const ours = page.body.dataset.study === body.dataset.study && page.getElementById("main");
    const state = ours ? page.getElementById("main").dataset.state : "";
    if (response.status >= 500 || (response.status === 429 && state !== "task")) {
      return later("Not saved, trying again.", Number(response.headers.get("Retry-After")));
    }
    // A page of somebody else, such as a network that wants a login first, has not saved anything.
    if (!ours) return later("Not saved: the reply did not come from the study.");
    tries = 0;
    kept.remove(key);
    lock(false);
    say("");
    show(page, response.redirected ? response.url : location.href);
    if (kept.waiting().length) next();
  }

  function next() {
    clearTimeout(timer);
    const [key] = kept.waiting();
    if (!key) return;
    lock(true);
    send(key).catch(() => { // what was kept cannot be read
      kept.remove(key);
      lock(false);
    });
  }

  window.addEventListener("online", () => { if (busy) next(); });

  document.addEventListener("submit", (event) => {
    if (busy) {
      event.preventDefault();
      return;
    }
    const sent = event.target;
    if (sent.matches("[data-once]")) { // a second click would show another page instead of the answer to the first
      if (sent.dataset.sent) event.preventDefault();
      sent.dataset.sent = "1";
      return;
    }
    if (!sent.matches("form[data-answer]") || !body.dataset.page) return;
    event.preventDefault();
    const fields = new FormData(sent, event.submitter);
    fields.set("milliseconds", String(Math.round(looked())));
    kept.set(prefix + fields.get("key"), JSON.stringify({ action: sent.action, fields: [...fields] }));
    next();
  });

  window.addEventListener("pageshow", () => { // also when somebody comes back to it
    document.querySelectorAll("form[data-sent]").forEach((one) => { delete one.dataset.sent; });
  });

  // Keys
  const KEYS = "trubleu:keys";
  function keysOn() { return kept.get(KEYS) !== "off"; }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-keys]");
    if (!button) return;
    kept.set(KEYS, keysOn() ? "off" : "on");
    button.setAttribute("aria-pressed", String(keysOn()));
  });

  // One tap or one key answers: what completes an answer sends it, and undo takes it back.
  const groups = () => [...form().elements].filter((one) => one.matches("fieldset"));
  const isRanking = () => form().matches("[data-ranking]");
  const isOpen = (group) => !group.querySelector(":checked");
  const isOver = (box) => box && box.open;

  // The order that the ranks so far make; a ranking is saved by its button, as ranks are often changed.
  function tellOrder() {
    const place = document.querySelector("[data-order]");
    if (!place) return;
    const at = {};
    groups().forEach((one, number) => {
      const rank = one.querySelector(":checked")?.value;
      if (rank) (at[rank] ??= []).push(number + 1);
    });
    const order = Object.keys(at).sort().map((rank) => at[rank].join(" and ")).join(", then ");
    place.textContent = order && `Your order${groups().some(isOpen) ? " so far" : ""}: ${order}.`;
  }
  document.addEventListener("change", (event) => { if (event.target.matches("input[type=radio]")) tellOrder(); });

  function finish(isLast) {
    if (isRanking()) return false;
    const all = groups();
    const writing = isOver(form().querySelector(".comment"));
    if (all.some(isOpen) || writing) return false;
    if (!isLast && all.length > 1) return false; // one of several answers is changed, others may follow
    form().requestSubmit(form().querySelector("[data-save]"));
    return true;
  }

  const keyed = new WeakSet(); // questions of this task that a key has answered

  function choose(score) {
    const all = groups();
    const here = all.find((one) => one.contains(document.activeElement));
    const group = all.find(isOpen) ?? here ?? all[0];
    const choice = group.querySelector(`input[value="${score}"]`);
    if (!choice) return;
    const wasOpen = isOpen(group);
    choice.checked = true;
    keyed.add(group);
    tellOrder();
    // After undo all questions are answered; keys save when they have answered each of them again.
    if (finish(wasOpen || all.every((one) => keyed.has(one)))) return;
    const next = all.find(isOpen) ?? all[(all.indexOf(group) + 1) % all.length];
    if (isRanking() && !all.some(isOpen)) return form().querySelector("[data-save]").focus();
    (next.querySelector(":checked") ?? next.querySelector("input")).focus();
  }

  // What opens is seen whole, and a tap beside the reasons closes them.
  document.addEventListener("toggle", (event) => {
    if (!event.target.open || !event.target.closest("form[data-answer]")) return;
    if (event.target.matches(".comment")) place();
    form().querySelector(".actions").scrollIntoView({ block: "nearest" });
    event.target.lastElementChild.scrollIntoView({ block: "nearest" });
  }, true);
  document.addEventListener("click", (event) => {
    const box = document.querySelector("[data-unable][open]");
    if (box && !box.contains(event.target)) box.open = false;
  });

  let tapped = null; // the choice under a finger or a mouse, and whether its question was open
  document.addEventListener("pointerdown", (event) => {
    const choice = event.target.closest?.("main.task .choice");
    tapped = choice && { choice, wasOpen: isOpen(choice.closest("fieldset")) };
  });
  document.addEventListener("click", (event) => {
    if (!tapped || !event.target.matches("input[type=radio]") || !tapped.choice.contains(event.target)) return;
    const { wasOpen } = tapped;
    tapped = null;
    if (!busy && performance.now() - shown >= SETTLE) finish(wasOpen);
  });

  function score(key) {
    if (/^[1-9]$/.test(key)) return key;
    const most = Math.max(...[...main().querySelectorAll("input[type=radio]")].map((one) => Number(one.value)));
    return { 0: most > 9 && "10", "-": most > 10 && "11" }[key] || "";
  }

  function unable(key) {
    const box = form().querySelector("[data-unable]");
    if (key === "c") {
      if (box.open) return form().requestSubmit(box.querySelector("[data-send-unable]"));
      box.open = true;
      return (box.querySelector("button[name=reason]") ?? box.querySelector("input")).focus();
    }
    if (key === "Escape") {
      box.open = false;
      return box.querySelector("summary").focus();
    }
    const reason = box.querySelectorAll("button[name=reason]")[Number(key) - 1];
    if (reason) form().requestSubmit(reason);
  }

  document.addEventListener("keydown", (event) => {
    tapped = null;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || busy || event.defaultPrevented) return;
    if (event.key === "Enter" && event.target.matches("[name=other]")) {
      event.preventDefault();
      form().requestSubmit(form().querySelector("[data-send-unable]"));
      return;
    }
    if (event.target.matches("input:not([type=radio]), textarea, select")) return;
    if (event.key === "Enter") {
      if (event.target.matches("a, button, summary")) return;
      const on = form() ?? document.querySelector("[data-next]");
      if (!on || event.repeat) return;
      event.preventDefault();
      if (on.matches("form")) on.requestSubmit(on.querySelector("[data-save]"));
      else on.click();
      return;
    }
    if (!keysOn() || event.repeat || performance.now() - shown < SETTLE) return;
    const undo = document.querySelector("form[data-undo]");
    const isUnable = form() && isOver(form().querySelector("[data-unable]"));
    if (form() && (event.key === "c" || (isUnable && /^([1-9]|Escape)$/.test(event.key)))) unable(event.key);
    else if (form() && score(event.key)) choose(score(event.key));
    else if (undo && event.key === "u") undo.requestSubmit();
    else return;
    event.preventDefault();
  });

  // The lead's numbers refresh by themselves; a part in which somebody works stays as it is.
  const inUse = (part) => part.contains(document.activeElement) || part.querySelector("details[open]")
    || (!getSelection().isCollapsed && getSelection().containsNode(part, true));

  async function refresh() {
    if (document.hidden) return;
    const response = await fetch(location.href, { credentials: "same-origin", headers: { "X-Refresh": "1" } });
    if (!response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (page.body.dataset.study !== body.dataset.study) return;
    const parts = [...document.querySelectorAll("[data-live]")];
    parts.forEach((part) => {
      const fresh = page.querySelector(`[data-live=${part.dataset.live}]`);
      if (fresh && !inUse(part)) part.replaceWith(document.adoptNode(fresh));
    });
  }
  const seconds = Number(main()?.dataset.refresh ?? 0);
  if (seconds) setInterval(() => refresh().catch(() => { /* no connection: the next time */ }), seconds * 1000);

  begin();
  // Where keys scroll the text. Pages that follow begin there too.
  if (main()?.matches(".task") && document.activeElement === body) main().querySelector("h1").focus({ preventScroll: true });
  // An answer that was kept when the page was closed or the connection lost.
  if (body.dataset.page) next();
})();
