// The search page: results lead to sections. Sphinx puts this after its own script, before the index.
"use strict";
(() => {
  const MOST = 50; // results, the best of them
  // Sphinx's words
  const FOUND = "Search finished, found ${resultCount} page(s) matching the search query.";
  const NONE =
    "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.";
  // A heading of these pages counts for no more than the text of the section that explains.
  const LATER = ["chapters/claims", "changes", "references"];
  const LESS = 12;

  // Names of code and letters are not English: they have no stem (as in words.py).
  const English = Stemmer;
  Stemmer = class {
    english = new English();
    stemWord(/** @type {string} */ word) {
      return /^\p{L}+$/u.test(word) ? this.english.stemWord(word.replace(/(?<=\w{3})iz(?=e|i|at)/, "is")) : word;
    }
  };

  Documentation.TRANSLATIONS[NONE] = "Nothing found. Try other words: those of ";
  const OTHERS = `the <a href="glossary.html">glossary</a>, of <a href="words.html">papers</a>,
    or of the <a href="genindex.html">index</a>.`;

  // "page#id", or "page##place##number" for what is found here and stands elsewhere.
  /** @type {(name: string) => string} */
  const placeOf = (name) => name.split("##")[1] ?? name;
  /** @type {(name: string) => string} */
  const pageOf = (name) => name.split("#")[0];
  let titles; // of the parts, by name
  /** @type {(name: string) => string} */
  const titleOf = (name) => {
    titles ??= new Map(Search._index.docnames.map((one, i) => [one, Search._index.titles[i]]));
    return titles.get(name) ?? "";
  };
  /** @type {(place: string) => string} */
  const fullTitle = (place) => {
    const page = titleOf(pageOf(place));
    return place.includes("#") ? `${page} › ${titleOf(place)}` : page;
  };

  // Sphinx scores a part by its best word; here every word of the query counts.
  /** @type {(file: number, words: Set<string>) => number} */
  function meanScore(file, words) {
    /** @type {(files?: Site.Files) => boolean} */
    const has = (files) => [files ?? []].flat().includes(file);
    const { terms, titleterms } = Search._index;
    const scores = [...words].map((word) =>
      has(titleterms[word]) ? Scorer.title : has(terms[word]) ? Scorer.term : Scorer.partialTerm,
    );
    return scores.reduce((sum, score) => sum + score, 0) / (scores.length || 1);
  }

  // A phrase in a title counts by its share of the title (of a mistake, one word is no phrase).
  // Among equals the book's order decides; mistakes and exercises come last.
  let phrase = "",
    words = new Set();
  Scorer.score = (result) => {
    const [name, , anchor, , score, source] = result;
    const { docnames, titles: names } = Search._index;
    const file = docnames.indexOf(name);
    const title = names[file].toLowerCase();
    const place = placeOf(name);
    const counts = title.includes(phrase) && (place === name || phrase.includes(" "));
    const share = counts ? phrase.length / title.length : 0;
    const page = pageOf(place);
    const later =
      docnames.indexOf(page) / 1e5
      + Number(source.split(":")[1]) / 1e8
      + (place !== name || title.startsWith("exercise: ") ? 1 : 0)
      + (LATER.includes(page) ? LESS : 0);
    result[0] = page;
    result[1] = names[file];
    if (place !== name) [result[1], result[3]] = [`Mistake: ${names[file]}`, `see ${fullTitle(place)}`];
    else if (page !== name) result[1] += `<span class="result-page"> ${titleOf(page)}</span>`;
    result[2] = place.includes("#") ? `#${place.split("#")[1]}` : anchor;
    const ofText = [Scorer.title, Scorer.partialTitle, Scorer.term, Scorer.partialTerm].includes(score);
    return (ofText ? meanScore(file, words) : score) + 40 * share - later;
  };

  // The same index by whole pages: for words that no section has together.
  /** @type {(index: Site.Index) => Site.Index} */
  function byPage(index) {
    const { docnames } = index;
    const first = docnames.map((name) => docnames.indexOf(pageOf(name)));
    /** @type {(files: Site.Files) => number[]} */
    const pages = (files) => [
      ...new Set(
        [files]
          .flat()
          .map((file) => first[file])
          .filter((file) => file >= 0),
      ),
    ];
    /** @type {(terms: Record<string, Site.Files>) => Record<string, number[]>} */
    const merged = (terms) => Object.fromEntries(Object.entries(terms).map(([word, files]) => [word, pages(files)]));
    return { ...index, terms: merged(index.terms), titleterms: merged(index.titleterms) };
  }

  const inParts = Search._performSearch;
  /** @type {typeof inParts} */
  function find(...query) {
    const results = inParts(...query);
    if (results.length) return results;
    const whole = Search._index;
    Search._index = byPage(whole);
    const found = inParts(...query);
    Search._index = whole;
    return found;
  }

  // In how many words of the index a word stands; a word that stands nowhere is the first to be left out.
  /** @type {(word: string) => number} */
  const common = (word) => {
    const { terms, titleterms } = Search._index;
    const files = [...[terms[word] ?? []].flat(), ...[titleterms[word] ?? []].flat()];
    const part = word.length > 2 && Object.keys(terms).some((term) => term.includes(word));
    return files.length || (part ? 1 : Infinity);
  };

  let typed = "";
  Search._performSearch = (query, sought, ...more) => {
    phrase = query
      .toLowerCase()
      .replace(/^this is what comes out when /, "")
      .replace(/[.\s]+$/, "")
      .trim();
    words = new Set(sought);
    let results = find(query, words, ...more);
    for (const word of [...sought].sort((a, b) => common(b) - common(a))) {
      if (results.length || words.size < 2) break;
      words.delete(word);
      results = find(query, words, ...more);
    }
    if (!results.length) queueMicrotask(() => Search.status?.insertAdjacentHTML("beforeend", OTHERS));
    const best =
      results.length > MOST ? `The best ${MOST} of ${results.length} places` : "Places found: ${resultCount}";
    const instead = query === typed ? "" : `, for “${query}”`;
    Documentation.TRANSLATIONS[FOUND] =
      best + instead + (words.size < sought.size ? "; no place has all the words" : "");
    return results.slice(-MOST); // the best come last
  };

  // What is typed becomes the book's words. A single letter is found, and not marked wherever it stands in a word.
  /** @type {(text: string) => string} */
  const joined = (text) => text.toLowerCase().replace(/[ -]/g, "");
  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    typed = query;
    const sought = inBookWords(query);
    const entry = Object.keys(Search._index.indexentries).find((one) => joined(one) === joined(sought));
    const parsed = parse(entry ?? sought);
    parsed[3] = new Set([...parsed[3]].filter((word) => word.length > 2));
    localStorage.setItem("sphinx_highlight_terms", [...parsed[3]].join(" "));
    return parsed;
  };

  // An excerpt: of a term its definition, else the sentence with most of the words, of this section alone.
  const BLOCKS = "p, li, td, figcaption, summary";
  const PARTS = "section, details.further, .exercise, .solution";
  const parsed = new Map();
  /** @type {(source: string) => Document} */
  function pageOfSource(source) {
    if (!parsed.has(source)) {
      const page = new DOMParser().parseFromString(source, "text/html");
      for (const one of page.querySelectorAll(".headerlink, script, style, .katex-mathml, .launch-line")) one.remove();
      parsed.set(source, page);
    }
    return parsed.get(source);
  }
  /** @type {(block: Element) => string[]} */
  const sentencesOf = (block) =>
    (block.textContent ?? "")
      .trim()
      .replace(/\s+/g, " ")
      .split(/(?<=[.!?]) (?=[^a-z])/);
  /** @type {(place: Element) => string[]} */
  function ownSentences(place) {
    const own = place.matches(PARTS) ? place : place.closest(PARTS);
    const blocks = [...place.querySelectorAll(BLOCKS)].filter((block) => !block.querySelector(BLOCKS));
    return blocks.filter((block) => block.closest(PARTS) === own).flatMap(sentencesOf);
  }
  Search.makeSearchSummary = (source, keywords, anchor) => {
    const page = pageOfSource(source);
    const found = anchor ? page.getElementById(anchor.slice(1)) : page.querySelector(".bd-article h1")?.parentElement;
    const place = found?.closest(".further-anchor")?.parentElement ?? found;
    if (!place) return null;
    const definition = place.matches("dt") && place.parentElement?.querySelector(`#${CSS.escape(place.id)} ~ dd`);
    const sentences = definition ? sentencesOf(definition.querySelector("p") ?? definition) : ownSentences(place);
    /** @type {(sentence: string) => number} */
    const held = (sentence) =>
      [...keywords].filter((word) => sentence.toLowerCase().includes(word.toLowerCase())).length;
    const best = definition ? 0 : sentences.reduce((top, one, i) => (held(one) > held(sentences[top]) ? i : top), 0);
    const text = sentences.slice(best, best + 2).join(" ");
    if (!text) return null;
    const summary = Object.assign(document.createElement("p"), { className: "context" });
    summary.textContent = text.length > 240 ? `${text.slice(0, 240).replace(/\s\S*$/, "")} …` : text;
    return summary;
  };
})();
