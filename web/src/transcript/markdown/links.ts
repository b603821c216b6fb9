// Where a link may lead. Only the web and mail are followed; a place in the workspace is a path; anything else is
// text. Pure.

export type Target = { kind: "web"; url: string } | { kind: "path"; path: string } | { kind: "none" };

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

export function targetOf(href: string): Target {
  const given = href.trim();
  if (given === "") return { kind: "none" };
  if (!SCHEME.test(given)) {
    const leadsAway = given.startsWith("//") || given.startsWith("\\") || given.startsWith("#");
    return leadsAway ? { kind: "none" } : { kind: "path", path: unescaped(given.replace(/[?#].*$/, "")) };
  }
  try {
    const url = new URL(given);
    const followed = ["http:", "https:", "mailto:"].includes(url.protocol);
    return followed ? { kind: "web", url: url.href } : { kind: "none" };
  } catch {
    return { kind: "none" };
  }
}

/** Whether the reader sees where it leads before following it. */
export function isPlain(text: string, url: string): boolean {
  const bare = (one: string) => one.replace(/^(?:https?:\/\/|mailto:)/, "").replace(/\/$/, "");
  return bare(text.trim()) === bare(url);
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** An address in a sentence does not end with the sentence's signs. */
export function trimmed(url: string): string {
  let end = url.length;
  for (;;) {
    const sign = url[end - 1] ?? "";
    const unopened = sign === ")" && count(url.slice(0, end), ")") > count(url.slice(0, end), "(");
    if (end === 0 || !(unopened || /[.,:;!?'"*_~\]]/.test(sign))) return url.slice(0, end);
    end -= 1;
  }
}

const count = (text: string, sign: string): number => text.split(sign).length - 1;

/** `\\(` in an address is a `(`. */
export const withoutEscapes = (href: string): string => href.replace(/\\([!-/:-@[-`{-~])/g, "$1");
