// Text as somebody may read it who decides by it: what turns, hides or imitates other text is shown as its
// code, ⟨U+202E⟩. Letters of other scripts stay as they are, unless they stand where they would be taken for
// Latin ones. The terminal has the same rules (`core/visible.py`), and both pass the same cases. Pure.

// ASCII controls but line feed and tab, soft hyphen, fillers, joiners, marks and overrides of direction,
// separators of lines and paragraphs, variation selectors, tags.
const INVISIBLE =
  "\\0-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f" +
  "\\u2028-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff9-\\ufffb" +
  "\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}";
const SPACES = "\\xa0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000";
const HIDING = new RegExp(`[${INVISIBLE}]`, "gu");
const HIDING_STRICTLY = new RegExp(`[${INVISIBLE}${SPACES}]`, "gu");
/** They look like / \ . and : beside letters. */
const SIGN = /[\u2024\u2044\u2215\u29f5\u29f8\ua789\ufe52\ufe68\uff0e\uff0f\uff1a\uff3c]/gu;

/** Letters that look like Latin ones, by script: with the range of the script's other letters. */
const SCRIPTS = [
  { first: "\u0400", last: "\u052f", alike: "аеорсухіјѕһԁԛԝьӏАВЕКМНОРСТУХІЈЅԌӀ" },
  { first: "\u0370", last: "\u03ff", alike: "ονρικυχαϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" },
  { first: "\u0530", last: "\u058f", alike: "օսհոցյզգքՏՍՕԼ" },
  { first: "\u13a0", last: "\u13ff", alike: "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᏀᏃᏎᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏴᏳᏂ" },
];
const ALIKE = new Set([...SCRIPTS.map(script => script.alike).join(""), "ɑ", "ɡ"]);

const WORD = /[\p{L}\p{N}_]+/gu;
const LATIN = /[A-Za-z\u00c0-\u024f\u1e00-\u1eff]/u;
const PLAIN = /[A-Za-z0-9]/;
/** Raised and lowered signs are in use; other dresses of plain letters are not. */
const RAISED = /[\u00aa\u00b2\u00b3\u00b9\u00ba\u02b0-\u02e4\u1d2c-\u1d6a\u2070-\u209c]/u;
const ORDINARY = /^[\t\n\x20-\x7e]*$/;

/** So many in a row are told instead of shown: what follows them would be out of sight. */
const BLANKS = /[^\S\n]{60,}/g;
const EMPTY_LINES = /(?<=\n|^)(?:[^\S\n]*\n){4,}/g;

/** `strictly`: for what will be run, spaces that are no plain space are marked too. */
export function visible(text: string, strictly = false): string {
  const one = text.replaceAll("\r\n", "\n");
  if (ORDINARY.test(one)) return one;
  return one
    .replace(strictly ? HIDING_STRICTLY : HIDING, hidden)
    .replace(SIGN, (sign, at: number, all: string) =>
      PLAIN.test((all[at - 1] ?? "") + (all[at + 1] ?? "")) ? mark(sign) : sign,
    )
    .split("\n")
    .map(line)
    .join("\n");
}

/** What somebody is asked to let happen: nothing in it is out of sight behind empty lines or spaces. */
export function visibleRequest(text: string): string {
  return folded(visible(text, true));
}

/** Without the empty space that pushes the rest out of sight; how much there was is told in its place. */
export function folded(text: string): string {
  return text
    .replace(EMPTY_LINES, lines => `⟨${lines.split("\n").length - 1} empty lines⟩\n`)
    .replace(BLANKS, spaces => `⟨${spaces.length} spaces⟩`);
}

const mark = (sign: string): string =>
  `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}⟩`;

function hidden(sign: string, at: number, all: string): string {
  const before = all[at - 1] ?? "";
  const after = all[at + sign.length] ?? "";
  // Joins a picture of several, or letters of scripts that need it.
  if ((sign === "\u200c" || sign === "\u200d") && before > "\u0590" && after > "\u0590") return sign;
  // Says how one picture is drawn. A second one in a row says nothing, but may carry something.
  if ((sign === "\ufe0e" || sign === "\ufe0f") && (before > "\u00a8" || /[0-9#*]/.test(before)))
    return before >= "\ufe00" && before <= "\ufe0f" ? mark(sign) : sign;
  return mark(sign);
}

function line(text: string): string {
  if (ORDINARY.test(text)) return text;
  const ambiguous = SCRIPTS.filter(
    ({ first, last, alike }) =>
      ![...text].some(char => char >= first && char <= last && !alike.includes(char)),
  );
  const latin = LATIN.test(text);
  return text.replace(WORD, found =>
    word(
      found,
      latin,
      ambiguous.map(script => script.alike),
    ),
  );
}

function word(found: string, latin: boolean, ambiguous: readonly string[]): string {
  if (ORDINARY.test(found)) return found;
  const dressed = [...found].map(char => (isStyled(char) ? mark(char) : char)).join("");
  const marked = () => [...dressed].map(char => (ALIKE.has(char) ? mark(char) : char)).join("");
  if (LATIN.test(dressed)) return marked();
  const letters = [...dressed].filter(char => /\p{L}/u.test(char));
  const imitates = letters.length > 0 && ambiguous.some(alike => letters.every(char => alike.includes(char)));
  // One Greek letter is the name of a quantity.
  const quantity = letters.length === 1 && /[\u0370-\u03ff]/u.test(letters[0] ?? "");
  return latin && imitates && !quantity ? marked() : dressed;
}

/** A plain letter or digit in another dress: bold, of full width. */
function isStyled(char: string): boolean {
  if (ORDINARY.test(char) || RAISED.test(char)) return false;
  const plain = char.normalize("NFKC");
  return plain !== char && /^[A-Za-z0-9]$/.test(plain) && char.normalize("NFC") === char;
}
