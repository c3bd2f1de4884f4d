// What becomes of answers that are no part of the page: a proxy's own pages, errors of the server, no answer at all.
// What the page shows and what somebody has chosen or typed on it stays, and it is told that it is old.
"use strict";
(() => {
  const live = document.querySelector("#live"), box = document.querySelector("#trouble");
  const NONE = "The server does not answer.", OVER = "Your session has ended.";
  const isForm = () => document.querySelector('[data-still="form"]') !== null;

  // "" = the answer belongs on the page. That a queue is gone, or may not be seen any more, is news about the page; to
  // somebody who writes, the login page must not take the place of the text.
  const wrong = (answer, source) => {
    const isOurs = answer.headers.get("X-CQS-Console") !== null;
    if (answer.status === 401 && answer.headers.get("HX-Refresh")) return source !== live && isForm() ? OVER : "";
    if (isOurs && (answer.ok || (source === live && answer.status < 500))) return "";
    return isOurs || answer.status >= 400 ? `The answer was an error (${answer.status}).` : "The answer was not from CQS.";
  };

  const tell = (source, target, text) => {
    if (source === live) {
      box.textContent = text && `Not refreshed. ${text}`;
      box.hidden = !text;
    } else if (source.id !== "find") {
      const note = document.createElement("span");
      Object.assign(note, { className: "failed hint", role: "alert", textContent: `Not loaded. ${text} ` });
      document.querySelectorAll(".failed").forEach(node => node.remove());
      if (target?.matches("tr")) source.after(note); else target?.replaceChildren(note);
      if (source.matches("[data-again]")) {
        const again = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: "Try again" });
        again.addEventListener("click", () => { note.remove(); source.dispatchEvent(new Event("again")); });
        note.append(again);
      }
    }
  };

  document.body.addEventListener("htmx:before:response", event => {
    const { ctx } = event.detail, text = wrong(ctx.response.raw, ctx.sourceElement);
    if (text) { event.preventDefault(); ctx.response.raw.body?.cancel(); }
    if (text || ctx.sourceElement === live) tell(ctx.sourceElement, ctx.target, text);
  });
  document.body.addEventListener("htmx:error", event => {
    const { ctx } = event.detail;
    if (ctx?.sourceElement && !ctx.response) tell(ctx.sourceElement, ctx.target, NONE);
  });
})();
