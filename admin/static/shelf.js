// What a browser keeps for its person: saved views. (Templates for sending are on the send page.)
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
  window.cqs.read = read; window.cqs.write = write;
})();
