
/* Keyboard, colours, and the start of it all. */

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    controls.search.focus();
    controls.search.select();
  });
  controls.search.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    list.querySelector(".case")?.focus();
  });
  list.addEventListener("keydown", (event) => {
    if (!event.target.classList.contains("case")) return;
    const buttons = [...list.querySelectorAll(".case")];
    const at = buttons.indexOf(event.target);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    (next < 0 ? controls.search : buttons[Math.min(next, buttons.length - 1)]).focus();
  });
}

function listenToTheme() {
  const button = byId("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const say = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
}

function showAbout() {
  const suites = new Set(data.implementations.map(({ suite }) => `suite ${suite.version} (${suite.digest.slice(0, 12)})`));
  const environments = new Set(data.implementations.map(({ environment }) => `Python ${environment.python}, NumPy ${environment.numpy}, ${environment.platform}`));
  byId("about").append(
    make("p", {}, `attnspec ${[...suites].join("; ")} · ${[...environments].join("; ")}`),
    make("p", {}, "Keys: / searches, ↑ ↓ move through the cases, Enter opens one, Escape closes it; inside a heatmap the arrows move the cursor."),
  );
}

/** Open what the address names: a case, a clause, a mistake, an erratum, or a page of the spec. */
function followAddress() {
  let wanted = location.hash.slice(1);
  try {
    wanted = decodeURIComponent(wanted);
  } catch {
    return;
  }
  const about = caseOf.get(wanted);
  if (!about) {
    const entry = byId("glossary").querySelector(`[id="${CSS.escape(wanted)}"]`);
    if (entry) openEntry(entry);
    return;
  }
  if (!byId(`case-${about.at}`) && !passing(about).length) narrow({}, false);
  if (!byId(`case-${about.at}`)) {
    rowsShown = Infinity;
    showCases();
  }
  const button = byId(`case-${about.at}`);
  if (button.getAttribute("aria-expanded") === "false") toggle(about, button);
  button.focus();
  button.scrollIntoView();
}

function openEntry(entry) {
  entry.closest("details").open = true;
  entry.focus({ preventScroll: true });
  entry.scrollIntoView();
}

showNotes();
showVerdicts();
showRanking();
showFindings();
showUnsupported();
showMatrix();
byId("results").append(make("h2", { id: "results-title" }, "Cases"));
showFilters(byId("results"));
byId("results").append(tally, list, more);
showCases();
showGlossary();
listenToKeys();
listenToTheme();
showAbout();
window.addEventListener("hashchange", followAddress);
followAddress();
