
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const root = document.documentElement;
  root.classList.add("script");
  for (const part of all("#theme, #filters, #keys")) part.hidden = false;

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

  // The table of cases: filter and sort. The form's fields and the sorted column are the view, which the address has behind "?".
  const table = by("table"), body = table.tBodies[0], rows = [...body.rows], form = by("filters");
  const heads = all("thead th", table), first = heads.findIndex((head) => head.ariaSort);
  for (const row of rows) {
    row.words = row.textContent.toLowerCase();
    row.tags = JSON.parse(row.dataset.tags);
    heads.forEach((head, place) => { if (place > 1) row.cells[place].dataset.label = head.textContent; });
  }
  const fields = [...form.elements].filter((field) => field.name);
  const choices = all("[data-tag]", form);
  const value = (name) => form.elements.namedItem(name)?.value ?? "";
  const ticked = (name) => form.elements.namedItem(name)?.checked;
  const filter = () => {
    const words = value("find").toLowerCase().split(/\s+/).filter(Boolean), outcome = value("outcome");
    const figure = heads.findIndex((head) => head.dataset.name === value("figure")), limit = value("limit");
    const within = (row) => {
      const number = row.cells[figure].dataset.v;
      return number !== undefined && (value("side") ? number >= Number(limit) : number <= Number(limit));
    };
    let shown = 0;
    for (const row of rows) {
      const fits = (!outcome || row.dataset.outcome === outcome) && (!ticked("undecided") || "open" in row.dataset) &&
        (!ticked("flipped") || "flipped" in row.dataset) && (figure < 0 || limit === "" || within(row)) &&
        choices.every((choice) => !choice.value || row.tags[choice.dataset.tag]?.includes(choice.value)) &&
        words.every((word) => row.words.includes(word));
      row.hidden = !fits;
      shown += fits;
    }
    by("shown").textContent = shown === rows.length ? `${shown} cases` : `${shown} of ${rows.length} cases`;
    by("nothing").hidden = shown > 0;
    by("reset").hidden = !fields.some(filled);
  };
  const sort = (place, up) => {
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[place].setAttribute("aria-sort", up ? "ascending" : "descending");
    const number = heads[place].dataset.kind === "number", none = up ? Infinity : -Infinity;
    const key = ({ cells }) => (number ? Number(cells[place].dataset.v ?? none) : cells[place].dataset.v ?? cells[place].textContent);
    const order = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
    body.append(...[...rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
  };
  const filled = (field) => (field.type === "checkbox" ? field.checked : field.value !== "");
  const viewed = () => {
    const view = new URLSearchParams();
    for (const field of fields) if (filled(field)) view.set(field.name, field.type === "checkbox" ? "1" : field.value);
    const place = heads.findIndex((head) => head.ariaSort), down = heads[place].ariaSort === "descending";
    if (place !== first || down) view.set("sort", (down ? "-" : "") + heads[place].dataset.name);
    return String(view) && `?${view}`;
  };
  const restore = (view) => {
    for (const field of fields) if (field.type === "checkbox") field.checked = view.has(field.name); else field.value = view.get(field.name) ?? "";
    for (const field of fields) if (field.selectedIndex === -1) field.selectedIndex = 0; // the page has no such choice
    for (const fold of all("details", form)) fold.open ||= fields.some((field) => fold.contains(field) && filled(field));
    const name = view.get("sort") ?? "", place = heads.findIndex((head) => head.dataset.name === name.replace(/^-/, ""));
    sort(place < 0 ? first : place, place < 0 || !name.startsWith("-"));
  };
  const changed = () => { filter(); note(); };
  form.addEventListener("input", changed);
  form.addEventListener("reset", () => setTimeout(() => { restore(new URLSearchParams()); changed(); }));
  form.addEventListener("submit", (event) => event.preventDefault());
  heads.forEach((head, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => { sort(place, head.ariaSort !== "ascending"); note(); });
  });

  // One case at a time: the address says which. A case is text until it is opened; its markup is this page's own, in which all data is escaped.
  const packed = new Map(all("noscript[data-id]").map((part) => [part.dataset.id, part]));
  const caseOf = (id) => {
    if (packed.has(id)) {
      const article = new DOMParser().parseFromString(packed.get(id).textContent, "text/html").querySelector("article");
      for (const part of all(".steps", article)) part.hidden = false;
      packed.get(id).replaceWith(document.adoptNode(article));
      packed.delete(id);
    }
    const part = by(id);
    return part?.matches("article.case") ? part : null;
  };
  const place = () => location.hash.slice(1).split("?")[0];
  const note = () => history.replaceState(null, "", `#${place() || "cases"}${viewed()}`);
  let current = null, last = null;
  const shownLinks = () => [...body.rows].filter((row) => !row.hidden).map((row) => row.cells[0].querySelector("a")).filter(Boolean);
  const beside = (step) => {
    const links = shownLinks(), here = links.findIndex((link) => link.hash === (current ? `#${current.dataset.row}` : last));
    return links[here < 0 ? (step > 0 ? 0 : links.length - 1) : here + step];
  };
  const title = document.title;
  const arrive = () => {
    const [id, view] = location.hash.slice(1).split("?");
    if (view !== undefined) { restore(new URLSearchParams(view)); filter(); } else if (id) note();
    current?.classList.remove("open");
    const before = current;
    current = caseOf(id);
    root.classList.toggle("one", Boolean(current));
    if (current) {
      current.classList.add("open");
      last = `#${current.dataset.row}`;
      for (const [name, step] of [["prev", -1], ["next", 1]]) {
        const link = beside(step), at = current.querySelector(`.${name}`);
        at.hidden = !link;
        if (link) at.href = link.hash;
      }
      for (const requirement of all("[data-decide]", current)) if (!requirement.querySelector(".decide")) ask(requirement);
      const heading = current.querySelector("h1");
      document.title = `${heading.textContent} · mapsat`;
      scrollTo(0, 0);
      heading.focus({ preventScroll: true });
    } else {
      document.title = title;
      const link = before && id === "cases" && shownLinks().find((one) => one.hash === last);
      if (link) link.focus(); else by(id)?.scrollIntoView();
    }
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches?.("input:not([type=radio]):not([type=checkbox]), select");
    if (event.key === "Escape") {
      if (event.target === by("find")) { event.target.value = ""; changed(); } // as browsers do, which do not tell
      if (typing) event.target.blur();
      else if (current) location.hash = "#cases";
      return;
    }
    if (typing) return;
    if (event.key === "/" && !current) {
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
    const answer = made("form", {}, made("fieldset", {}, legend, ...choices), made("label", { className: "reason" }, "reason", why));
    const open = requirement.classList.contains("unevaluated");
    const fold = made("details", { className: "decide", open }, made("summary", {}, open ? "Decide" : "Override"), answer);
    answer.addEventListener("submit", (event) => event.preventDefault());
    answer.addEventListener("input", () => {
      const outcome = new FormData(answer).get("outcome");
      if (outcome) given.set(answer, labelled(requirement, outcome, why.value.trim())); else given.delete(answer);
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
  arrive();
  filter();

  // On paper everything of the case that is open is unfolded.
  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = all("details:not([open])", current || by("overview"));
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
})();
