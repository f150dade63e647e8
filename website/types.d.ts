// What the site's scripts know of each other and of Sphinx's. Checked by `make javascript`.

declare namespace Site {
  /** A link between the traits of two models, which goes both ways or one. */
  interface Link {
    ends: [[model: string, trait: string], [model: string, trait: string]];
    both: boolean;
  }
  type Files = number | number[];
  interface Index {
    docnames: string[];
    titles: string[];
    terms: Record<string, Files>;
    titleterms: Record<string, Files>;
    indexentries: Record<string, unknown>;
  }
  type Result = [name: string, title: string, anchor: string, said: string | null, score: number, source: string];
}

declare const DOCUMENTATION_OPTIONS: { SHOW_SEARCH_SUMMARY: boolean };
declare const Documentation: { TRANSLATIONS: Record<string, string> };
declare const Scorer: Record<"title" | "partialTitle" | "term" | "partialTerm", number> & {
  score(result: Site.Result): number;
};
declare const inBookWords: (query: string) => string;
declare const Search: {
  _index: Site.Index;
  status?: HTMLElement;
  _performSearch(query: string, words: Set<string>, ...more: unknown[]): Site.Result[];
  _parseQuery(query: string): [string, Set<string>, Set<string>, Set<string>, ...unknown[]];
  makeSearchSummary(source: string, keywords: Set<string>, anchor?: string): HTMLElement | null;
};
declare let Stemmer: new () => { stemWord(word: string): string };
