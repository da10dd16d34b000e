"use strict";

/* What every page can do: the menu, colours, the search by key, copying, and the rest of a list. */

// The script stands in the bar of a page; its own address says where the site begins.
const bar = document.currentScript.parentElement;
const root = document.currentScript.getAttribute("src").slice(0, -"assets/site.js".length);
const element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

/** What a visitor chose earlier; some browsers keep nothing for pages of a disk. */
function kept(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(name, value);
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}

/** Thousands of pages have the menu and the search: written out, they would be a tenth of the site. */
function offerMenu() {
  const pages = element("nav", "", { "aria-label": "Site" });
  for (const [name, address] of Object.entries(window.menu)) pages.append(element("a", name, { href: root + address }), " ");
  const search = element("form", "", { role: "search", action: `${root}search.html` });
  search.append(element("input", "", { type: "search", name: "q", "aria-label": "Search the site", placeholder: "Search" }));
  bar.before(element("a", "Skip to the content", { class: "skip", href: "#main" }));
  bar.append(pages, search);
}

function offerColours() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = kept("attnspec-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const button = element("button", "", { type: "button", class: "quiet", id: "theme" });
  const say = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    kept("attnspec-theme", document.documentElement.dataset.theme);
    say();
  });
  dark.addEventListener("change", say);
  say();
  bar.append(button);
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    event.preventDefault();
    const field = document.querySelector("#words") ?? document.querySelector(".bar input");
    field.focus();
    field.select();
  });
}

function offerCopies() {
  for (const code of document.querySelectorAll("main pre")) {
    const button = element("button", "Copy", { type: "button", class: "quiet" });
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(code.textContent.trimEnd() + "\n");
      button.textContent = "Copied";
    });
    const around = element("div", "", { class: "copying" });
    code.replaceWith(around);
    around.append(code, button);
  }
}

/** What may be wider than the window is scrolled by the keyboard, too. */
function offerScrolling() {
  for (const wide of document.querySelectorAll(".scroll, main pre")) {
    const name = wide.querySelector("caption b")?.textContent ?? (wide.matches("pre") ? "Code" : "Table");
    for (const [attribute, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", name]]) wide.setAttribute(attribute, value);
  }
}

/** The rest of a list that a page has only in part: its data are loaded once somebody wants them. */
function offerRest() {
  for (const line of document.querySelectorAll(".more-of")) {
    const button = element("button", "Show all", { type: "button", class: "quiet" });
    button.addEventListener("click", () => {
      const script = element("script", "", { src: `${root}assets/relations.js` });
      script.addEventListener("load", () => showRest(line));
      document.head.append(script);
    });
    line.append(" ", button);
  }
}

function showRest(line) {
  const { cases, mistakes, catching: steps } = window.relations;
  let at = 0;
  const catching = steps.map((own) => ((at = 0), own.map((step) => (at += step))));
  const of = document.querySelector("h1").textContent;
  const isMistake = mistakes.includes(of);
  const folder = isMistake ? "cases" : "mistakes";
  const ids = isMistake
    ? catching[mistakes.indexOf(of)].map((position) => cases[position])
    : mistakes.filter((_, position) => catching[position].includes(cases.indexOf(of)));
  const list = element("ul", "", { class: "list" });
  for (const id of ids) {
    const link = element("a", "", { href: `${root}${folder}/${id}.html` });
    link.append(element("code", id));
    const item = element("li", "");
    item.append(link);
    list.append(item);
  }
  line.replaceWith(list);
  list.querySelector("a").focus();
}

/** Paper unfolds nothing. */
function unfoldForPaper() {
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details:not([open])")) {
      folded.add(details);
      details.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
    folded.clear();
  });
}

offerMenu();
offerColours();
listenToKeys();
unfoldForPaper();
document.addEventListener("DOMContentLoaded", () => {
  offerScrolling();
  offerCopies();
  offerRest();
});
