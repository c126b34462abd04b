
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  for (const part of all("#theme, #filters, #keys, .steps")) part.hidden = false;

  // Theme: as the system has it, light, dark. Where nothing can be stored it lasts as long as the page.
  const themes = ["", "light", "dark"];
  const stored = (value) => {
    try {
      if (value === undefined) return localStorage.getItem("mapsat-theme") || "";
      localStorage.setItem("mapsat-theme", value);
    } catch { /* a file may be kept from storing */ }
    return "";
  };
  const wear = (theme) => {
    if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
    by("theme").textContent = "Theme: " + (theme || "as the system");
  };
  wear(themes.includes(stored()) ? stored() : "");
  by("theme").addEventListener("click", () => {
    const next = themes[(themes.indexOf(root.dataset.theme || "") + 1) % themes.length];
    wear(next);
    stored(next);
  });

  // The table of cases: filter and sort.
  const table = by("table"), body = table.tBodies[0], rows = [...body.rows];
  const heads = all("thead th", table);
  for (const row of rows) {
    row.words = row.textContent.toLowerCase();
    row.domains = JSON.parse(row.dataset.domains);
    heads.forEach((head, place) => { if (place > 1) row.cells[place].dataset.label = head.textContent; });
  }
  const value = (id) => (by(id) ? by(id).value : "");
  const filter = () => {
    const words = value("find").toLowerCase().split(/\s+/).filter(Boolean);
    const outcome = value("by-outcome"), domain = value("by-domain"), open = by("by-open")?.checked;
    let shown = 0;
    for (const row of rows) {
      const fits = (!outcome || row.dataset.outcome === outcome) && (!domain || row.domains.includes(domain)) &&
        (!open || "open" in row.dataset) && words.every((word) => row.words.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    by("shown").textContent = shown === rows.length ? `${shown} cases` : `${shown} of ${rows.length} cases`;
    by("nothing").hidden = shown > 0;
  };
  by("filters").addEventListener("input", filter);
  by("filters").addEventListener("submit", (event) => event.preventDefault());
  filter();

  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    const number = head.dataset.kind === "number";
    const key = (row) => row.cells[place].dataset.v ?? row.cells[place].textContent;
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const order = number ? (a, b) => key(a) - key(b) : (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
      body.append(...[...body.rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
    });
  });

  // One case at a time: the address says which.
  const current = () => {
    const target = location.hash.length > 1 && by(location.hash.slice(1));
    return target && target.matches("article.case") ? target : null;
  };
  const shownLinks = () => [...body.rows].filter((row) => !row.hidden).map((row) => row.cells[0].querySelector("a")).filter(Boolean);
  const rowOf = (article) => article && `#${article.dataset.row}`;
  const beside = (step) => {
    const links = shownLinks(), here = links.findIndex((link) => link.hash === rowOf(current()));
    return links[here < 0 ? (step > 0 ? 0 : links.length - 1) : here + step];
  };
  let last = null;
  const title = document.title;
  const arrive = () => {
    const article = current();
    if (article) {
      last = rowOf(article);
      for (const [name, step] of [["prev", -1], ["next", 1]]) {
        const link = beside(step), at = article.querySelector(`.${name}`);
        at.hidden = !link;
        if (link) at.href = link.hash;
      }
      for (const requirement of all("[data-decide]", article)) if (!requirement.querySelector(".decide")) ask(requirement);
      const heading = article.querySelector("h1");
      document.title = `${heading.textContent} · mapsat`;
      scrollTo(0, 0);
      heading.focus({ preventScroll: true });
    } else {
      document.title = title;
      const link = shownLinks().find((one) => one.hash === last);
      if (link) link.focus();
      last = null;
    }
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input:not([type=radio]):not([type=checkbox]), select");
    if (event.key === "Escape") {
      if (event.target === by("find")) { event.target.value = ""; filter(); } // as browsers do, which do not tell
      if (typing) event.target.blur();
      else if (current()) location.hash = "#cases";
      return;
    }
    if (typing) return;
    if (event.key === "/" && !current()) {
      event.preventDefault();
      by("find").focus();
    } else if (event.key === "j" || event.key === "k") {
      const link = beside(event.key === "j" ? 1 : -1);
      if (link) location.hash = link.hash;
    }
  });

  // Pointing at a requirement lights the words that it rests on.
  const light = (event, on) => {
    const requirement = event.target.closest?.(".requirement");
    if (!requirement) return;
    for (const mark of all("mark", requirement.closest("article")))
      mark.classList.toggle("lit", on && mark.dataset.f.split(" ").includes(requirement.dataset.f));
  };
  for (const [name, on] of [["mouseover", true], ["mouseout", false], ["focusin", true], ["focusout", false]])
    addEventListener(name, (event) => light(event, on));

  // Decisions on labels, kept in the page until they are exported for mapsat review --from.
  const made = (name, attributes, ...parts) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...parts);
    return element;
  };
  const given = new Map();
  const levels = [["0.75", "¾"], ["0.5", "½"], ["0.25", "¼"]];
  const ask = (requirement) => {
    const outcomes = [["passed", "met"], ...(requirement.dataset.decide === "soft" ? levels : []), ["failed", "broken"]];
    const choices = [...outcomes, ["", "as it is"]].map(([value, name]) =>
      made("label", {}, made("input", { type: "radio", name: "outcome", value, defaultChecked: !value }), name));
    const why = made("input", { type: "text", name: "why", maxLength: 1000, autocomplete: "off" });
    const legend = made("legend", { className: "unseen" }, `Decide ${requirement.dataset.f}`);
    const form = made("form", {}, made("fieldset", {}, legend, ...choices), made("label", { className: "reason" }, "reason", why));
    const open = requirement.classList.contains("unevaluated");
    const fold = made("details", { className: "decide", open }, made("summary", {}, open ? "Decide" : "Decide otherwise"), form);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      const outcome = new FormData(form).get("outcome");
      if (outcome) given.set(form, labelled(requirement, outcome, why.value.trim())); else given.delete(form);
      unsaved = true;
      count();
    });
    requirement.append(fold);
  };
  const labelled = (requirement, outcome, why) => {
    const { case: id, trial, agent, attempt } = requirement.closest("article").dataset;
    const line = { case: id, trial: Number(trial) };
    if (agent) line.agent = agent;
    if (attempt !== "1") line.attempt = Number(attempt);
    line.labels = { [requirement.dataset.f]: Number(outcome) || outcome };
    if (why) line.why = { [requirement.dataset.f]: why };
    return line;
  };
  let unsaved = false;
  const count = () => {
    by("decisions").hidden = !given.size;
    by("decided").textContent = `${given.size} ${given.size === 1 ? "label" : "labels"}`;
  };
  by("export").addEventListener("click", () => {
    const text = [...given.values()].map((line) => JSON.stringify(line) + "\n").join("");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/x-ndjson" }));
    link.download = "labels.jsonl";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    unsaved = false;
  });
  addEventListener("beforeunload", (event) => { if (unsaved && given.size) event.preventDefault(); });

  addEventListener("hashchange", arrive);
  if (current()) arrive();

  // On paper everything of the case that is open is unfolded.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = all("details:not([open])", current() || by("overview"));
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
})();
