// The console's own script: refreshing, keys, copying, selecting. Without it the pages still show everything.
"use strict";
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const base = document.body.dataset.base;
  const say = text => { one("#said").textContent = text; };
  const remember = (name, value) => { try { localStorage.setItem("cqs." + name, value); } catch { /* private mode */ } };
  const recall = name => { try { return localStorage.getItem("cqs." + name); } catch { return null; } };
  const typing = target => target.closest("textarea, select, [contenteditable], input:not([type=checkbox], [type=radio])");

  // From sending a form until its answer comes: what is on the page is on its way, and a refresh would enable its
  // buttons again. A browser does not tell when its person stops waiting, so this ends after a minute.
  let left = -Infinity;
  const leaving = () => Date.now() - left < 60_000;

  // Refreshing: each page asks for its live part; it pauses while nobody looks or types in it, and tells its age.
  const live = one("#live"), period = one("#refresh"), age = one("#age");
  let fresh = Date.now(), due = 0, isWanted = false, before = -1, isStopping = false;
  const refresh = () => { due = Date.now(); document.body.dispatchEvent(new Event("refresh")); };
  const still = () => live.matches("[data-still]") || one("[data-still]", live) || !live.hasChildNodes();
  if (live && period) {
    const part = period.closest(".refresh");
    part.hidden = still();
    period.value = recall("refresh") ?? "5";
    if (period.selectedIndex < 0) period.value = "5";
    period.addEventListener("change", () => { remember("refresh", period.value); refresh(); });
    setInterval(() => {
      const seconds = Number(period.value), now = Date.now(), old = Math.round((now - fresh) / 1000);
      age.textContent = old < 2 ? "up to date" : `${old} s old`;
      age.classList.toggle("stale", seconds > 0 && old > 3 * seconds + 5);
      part.hidden = still();
      const busy = document.hidden || part.hidden || leaving() || (document.activeElement?.closest("#live") && typing(document.activeElement));
      if (seconds && !busy && now - due >= seconds * 1000) refresh();
    }, 500);
    document.addEventListener("visibilitychange", () => { if (!document.hidden && Number(period.value) && !still()) refresh(); });
  }
  // A refresh that was on its way when more rows were shown would take them away again. Whoever asked for more rows
  // goes on at the first of them, and the button that stops a search keeps the focus while its row is replaced.
  document.body.addEventListener("htmx:before:swap", event => {
    const source = event.detail.ctx?.sourceElement;
    before = source === document.activeElement && source.closest("#more") ? rows().length : -1;
    isStopping = Boolean(source?.closest("#more")?.contains(one("[data-remove]:focus")));
    if (source !== live) return;
    if (leaving() || (still() && !isWanted)) event.preventDefault();
    isWanted = false;
  });
  document.body.addEventListener("htmx:after:swap", event => {
    const source = event.detail.ctx?.sourceElement;
    if (source === live) { fresh = Date.now(); follow(); select(); }
    else if (isStopping) one("#more [data-remove]")?.focus({ preventScroll: true });
    else if (before >= 0 && rows().length > before) mark(before);
    document.dispatchEvent(new CustomEvent("fresh"));
  });
  document.body.addEventListener("htmx:config:request", event => {
    event.detail.ctx.request.headers["X-CSRF-Token"] = one("meta[name=csrf]").content;
  });

  // Light or dark: a cookie, so that the server draws the page right at once.
  one("#theme")?.addEventListener("click", () => {
    const root = document.documentElement, isDark = getComputedStyle(root).colorScheme === "dark"
      || (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    root.dataset.theme = isDark ? "light" : "dark";
    document.cookie = `cqs_theme=${root.dataset.theme}; path=${base}; max-age=31536000; samesite=strict`;
    document.dispatchEvent(new CustomEvent("theme"));
  });

  // Copying: the clipboard exists on https and localhost only, so there is an old way as well.
  document.addEventListener("click", async event => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = button.dataset.copy;
    try { await navigator.clipboard.writeText(text); } catch {
      const area = Object.assign(document.createElement("textarea"), { value: text });
      document.body.append(area); area.select(); document.execCommand("copy"); area.remove(); button.focus();
    }
    say("Copied"); button.classList.add("done");
    setTimeout(() => button.classList.remove("done"), 1200);
  });

  document.addEventListener("click", event => {
    const button = event.target.closest("[data-remove]");
    if (button) one(button.dataset.remove)?.remove();
  });

  // Rows: j and k walk, Enter opens, x selects. What is selected survives a refresh; the mark is where the focus is, and
  // stays with its row when others come before it.
  let at = -1, whose = "";
  const rows = () => all("tr[data-row], li[data-row]");
  const nameOf = row => row?.id || one("a", row ?? document.createElement("i"))?.href || "";
  const follow = () => { const place = whose ? rows().findIndex(row => nameOf(row) === whose) : -1; mark(place < 0 ? at : place, false); };
  const mark = (place, isScrolling = true) => {
    const list = rows();
    at = list.length ? Math.max(-1, Math.min(place, list.length - 1)) : -1;
    whose = nameOf(list[at]);
    list.forEach((row, index) => row.classList.toggle("at", index === at));
    if (at >= 0 && isScrolling) { list[at].scrollIntoView({ block: "nearest" }); one("a", list[at])?.focus({ preventScroll: true }); }
  };
  const select = () => all("form[data-select]").forEach(form => {
    const boxes = all("input[name=chosen]", form), count = boxes.filter(box => box.checked).length;
    all("[data-count]", form).forEach(node => { node.textContent = count; });
    all("[data-needs-choice]", form).forEach(button => { button.disabled = count === 0 || leaving(); });
    const whole = one("input[data-all]", form);
    if (whole) { whole.checked = count > 0 && count === boxes.length; whole.indeterminate = count > 0 && count < boxes.length; }
  });
  document.addEventListener("focusin", event => {
    const place = rows().indexOf(event.target.closest("[data-row]"));
    if (place >= 0 && place !== at) mark(place, false);
  });
  document.addEventListener("change", event => {
    if (event.target.matches("input[data-all]")) all("input[name=chosen]", event.target.form).forEach(box => { box.checked = event.target.checked; });
    if (event.target.matches("[data-column]")) {
      const kept = all("[data-column]:checked", event.target.form).map(box => box.value);
      document.cookie = `cqs_columns=${kept.join(".")}; path=${base}; max-age=31536000; samesite=strict`;
      if (new URLSearchParams(location.search).has("cols")) event.target.form.requestSubmit(); else refresh();
    }
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
    select();
  });

  // What can be undone for a while: gone when the while is over.
  all("[data-until]").forEach(node => setTimeout(() => node.remove(), Math.max(0, Number(node.dataset.until))));

  let going = 0;
  document.addEventListener("keydown", event => {
    if (event.key === "Escape") {
      if (typing(event.target)) event.target.blur();
      all("details.who[open], details.columns[open], details.menu[open]").forEach(node => { if (node.matches(".menu") || node.contains(document.activeElement)) one("summary", node).focus(); node.open = false; });
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || one("dialog[open]")) return;
    if (going && Date.now() - going < 1500) {
      going = 0;
      const goal = one(`[data-go="${CSS.escape(event.key)}"]`);
      if (goal) { event.preventDefault(); goal.click(); }
      return;
    }
    const acts = {
      "/": () => one("#find")?.focus(), g: () => { going = Date.now(); }, j: () => mark(at + 1), k: () => mark(Math.max(0, at - 1)),
      x: () => { const box = one("input[type=checkbox]", rows()[at] ?? document.createElement("i")); box?.click(); },
      r: () => { if (!one('[data-still="form"]')) { isWanted = true; refresh(); } }, "?": () => one("#help")?.showModal(),
    };
    if (acts[event.key]) { event.preventDefault(); acts[event.key](); }
    else if (event.key === "Enter" && at >= 0 && event.target === document.body) one("a", rows()[at])?.click();
  });
  one("#keys")?.addEventListener("click", () => one("#help").showModal());
  document.addEventListener("click", event => {
    all("details.who[open], details.columns[open]").forEach(node => { if (!node.contains(event.target)) node.open = false; });
  });

  // Sending a form: once; one with a text not before it is known that the server answers and somebody is logged in, or
  // another page would take the place of the text. Who types is not idle. A typed name opens the way to what can't be
  // undone.
  const wait = new WeakSet();
  const door = async () => {
    const answer = await fetch(`${base}/login`, { method: "HEAD", redirect: "manual" }).catch(() => null);
    return !answer || answer.status >= 500 ? "shut" : answer.ok ? "out" : "in";
  };
  const ask = async (form, button) => {
    const where = await door();
    one("#ended")?.remove();
    if (where !== "in") {
      wait.delete(form);
      const note = Object.assign(document.createElement("div"), { id: "ended", className: "note danger", role: "alert" });
      if (where === "shut") note.textContent = "The server does not answer. Send this again later: what you typed stays here.";
      else note.append("Your session has ended. ", Object.assign(document.createElement("a"), { href: `${base}/login`, target: "_blank", textContent: "Log in in another tab" }), ", then send this again: what you typed stays here.");
      form.before(note);
      note.scrollIntoView({ block: "nearest" });
      return;
    }
    form.dataset.asked = "";
    form.requestSubmit(button);
  };
  document.addEventListener("submit", event => {
    const form = event.target;
    if (form.matches("[hx-get], [hx-post]")) return;
    if (form.method === "post" && one("textarea", form) && form.dataset.asked === undefined) {
      event.preventDefault();
      if (!wait.has(form)) { wait.add(form); ask(form, event.submitter); }
      return;
    }
    delete form.dataset.asked;
    if (form.method === "dialog") return;
    left = Date.now();
    setTimeout(() => all("button:not([type=button])", form).forEach(button => { button.disabled = true; }));
  });
  let seen = Date.now();
  document.addEventListener("input", () => { if (Date.now() - seen > 300_000) { seen = Date.now(); door(); } });
  document.addEventListener("input", event => {
    const wanted = event.target.dataset.typed;
    if (wanted !== undefined) all("[data-needs-typed]", event.target.form).forEach(button => { button.disabled = event.target.value !== wanted; });
  });
  const open = () => {
    all("input[data-typed]").forEach(input => input.dispatchEvent(new Event("input", { bubbles: true })));
    select();
  };
  // A page that comes back as it was left: its forms can be sent again.
  addEventListener("pageshow", event => {
    if (event.persisted) { left = -Infinity; all("form").forEach(form => wait.delete(form)); all("button:disabled").forEach(button => { button.disabled = false; }); }
    open();
  });
  open();
  window.cqs = { remember, recall, say, refresh };
})();
