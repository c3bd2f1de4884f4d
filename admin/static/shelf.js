// What a browser keeps for its person: saved views, and templates of messages.
"use strict";
(() => {
  const { recall, remember, say } = window.cqs;
  const read = name => { try { const list = JSON.parse(recall(name) ?? "[]"); return Array.isArray(list) ? list : []; } catch { return []; } };
  const write = (name, list) => remember(name, JSON.stringify(list.slice(0, 50)));

  const box = document.querySelector("#views"), base = document.body.dataset.base;
  const ours = view => typeof view?.name === "string" && typeof view.path === "string" && view.path.startsWith(base + "/");
  const show = () => {
    if (!box) return;
    const views = read("views").filter(ours);
    box.hidden = views.length === 0;
    box.querySelector("ul").replaceChildren(...views.map(view => {
      const item = document.createElement("li"), link = document.createElement("a"), away = document.createElement("button");
      link.href = view.path; link.textContent = view.name; link.title = view.path;
      away.type = "button"; away.className = "quiet small"; away.textContent = "×"; away.ariaLabel = `Forget ${view.name}`;
      away.addEventListener("click", () => { write("views", read("views").filter(other => other.path !== view.path)); show(); });
      item.append(link, away);
      return item;
    }));
  };
  document.querySelector("#save-view")?.addEventListener("click", () => {
    const path = location.pathname + location.search, name = document.title.replace(/ · CQS$/, "") + (new URLSearchParams(location.search).get("q") ? ` “${new URLSearchParams(location.search).get("q")}”` : "");
    write("views", [{ name, path }, ...read("views").filter(view => view.path !== path)]);
    show(); say("View saved");
  });
  show();

  // Templates of messages: a form's fields by name, put back as they were.
  const form = document.querySelector("form[data-templates]"), shelf = document.querySelector("[data-shelf]");
  const addRow = list => { const row = list.lastElementChild.cloneNode(true); row.querySelectorAll("input").forEach(input => { input.value = input.name === "attribute_type" ? "String" : ""; }); list.append(row); return row; };
  document.addEventListener("click", event => {
    const button = event.target.closest("[data-add-row]");
    if (button) addRow(document.querySelector(button.dataset.addRow)).querySelector("input").focus();
  });
  const fields = () => [...new FormData(form)].filter(([name]) => name !== "csrf" && name !== "back");
  const fill = kept => {
    const names = kept.filter(([name]) => name === "attribute_name").length, list = form.querySelector("#attributes");
    while (list.children.length < names) addRow(list);
    form.reset();
    const seen = {};
    kept.forEach(([name, value]) => { const place = seen[name] = (seen[name] ?? -1) + 1, field = form.querySelectorAll(`[name="${CSS.escape(name)}"]`)[place]; if (field && field.type !== "hidden") field.value = value; });
  };
  const showShelf = () => {
    const kept = read("templates").filter(one => typeof one?.name === "string" && Array.isArray(one.fields));
    shelf.querySelector("ul").replaceChildren(...kept.map(one => {
      const item = document.createElement("li"), use = document.createElement("button"), away = document.createElement("button");
      use.type = away.type = "button"; use.className = "quiet small"; use.textContent = one.name; use.addEventListener("click", () => fill(one.fields));
      away.className = "quiet small"; away.textContent = "×"; away.ariaLabel = `Forget ${one.name}`;
      away.addEventListener("click", () => { write("templates", read("templates").filter(other => other.name !== one.name)); showShelf(); });
      item.append(use, away);
      return item;
    }));
  };
  if (form && shelf) {
    shelf.hidden = false; showShelf();
    shelf.querySelector("[data-keep]").addEventListener("click", () => {
      const name = shelf.querySelector("input").value.trim() || form.body.value.slice(0, 40) || "untitled";
      write("templates", [{ name, fields: fields() }, ...read("templates").filter(one => one.name !== name)]);
      showShelf(); say("Template saved");
    });
  }
  window.cqs.read = read; window.cqs.write = write;
})();
