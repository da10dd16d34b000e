
/* What the page says more about: clauses, mistakes, errata and cases, each under its id in the address. */

const caseOf = new Map(cases.map((about) => [about.id, about]));
const isKnown = (id) => id in data.clauses || id in data.mistakes || id in data.errata || caseOf.has(id);
const NAMED = /\w+(?:[./]\w+)+/g;
const LINKED = /\[([^\]]+)\]\(([^)]+)\)/g;

/** An id, as a link where the page says more about it. */
function refer(id) {
  const name = make("code", {}, id);
  return isKnown(id) ? make("a", { href: `#${id}` }, name) : name;
}

/** The link to the page of a clause on a site; to a file only from a report that is a file, too. */
function pageOfClause(id) {
  const link = data.clauses[id]?.link;
  if (!link || (link.startsWith("file:") && location.protocol !== "file:")) return [];
  return [make("a", { href: link, rel: "external noreferrer", class: "small", "aria-label": `Page of ${id}` }, "its page")];
}

/** Ids in a row. */
function refersTo(ids) {
  return ids.flatMap((id, position) => (position ? [", ", refer(id)] : [refer(id)]));
}

/** A sentence, in which ids that the page says more about are links. */
function linked(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(NAMED)) {
    if (!isKnown(match[0])) continue;
    parts.push(text.slice(end, match.index), refer(match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** Text of the spec: what stands between backticks is code, and links lead to the page's own clauses. */
function prose(text, page = null) {
  return text.split("`").flatMap((part, position) => {
    if (position % 2) return [isKnown(part) ? refer(part) : make("code", {}, part)];
    const parts = [];
    let end = 0;
    for (const [whole, words, target, index] of [...part.matchAll(LINKED)].map((match) => [...match, match.index])) {
      parts.push(...linked(part.slice(end, index)), toPage(words, target, page));
      end = index + whole.length;
    }
    return [...parts, ...linked(part.slice(end))];
  });
}

/** A link of the spec to one of its pages. */
function toPage(words, target, page) {
  const wanted = page && new URL(target, `file:///${page}`).pathname.slice(1);
  return wanted in data.pages ? make("a", { href: `#${pageId(wanted)}` }, words) : words;
}

const pageId = (page) => `spec/operations/${page}`;

/** Where a case or a mistake comes from; what has an address is a link that leaves the page. */
function sourceLinks(found) {
  return found.flatMap(([text, address], position) => [
    ...(position ? [", "] : []),
    address ? make("a", { href: address, rel: "external noreferrer" }, text) : text,
  ]);
}
