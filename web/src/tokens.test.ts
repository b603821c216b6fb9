// The colours, by the numbers of WCAG: every text on every ground it may stand on, in light and dark; and the sizes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const css = readFileSync(join(import.meta.dirname, "page.css"), "utf8");
const found = [...css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)];
const tokens = new Map(
  found.map(([, name, light, dark]) => [name ?? "", { light: light ?? "", dark: dark ?? "" }]),
);

const GROUNDS = ["canvas", "raised", "sunken", "hover", "chosen"];
const TEXTS = ["text", "soft", "faint", "accent-text", "good", "warn", "bad"];
const PAIRS = [
  ...TEXTS.flatMap(text => GROUNDS.map(ground => [text, ground])),
  ...["good", "warn", "bad"].map(name => [name, `${name}-soft`]),
  ["accent-text", "accent-soft"],
  ["on-accent", "accent"],
  ["canvas", "text"],
];

it.each(["light", "dark"] as const)("texts can be read in %s", theme => {
  const weak = PAIRS.filter(
    ([text = "", ground = ""]) => contrast(colour(text, theme), colour(ground, theme)) < 4.5,
  );
  expect(weak).toEqual([]);
});

it.each(["light", "dark"] as const)("edges of controls and the focus can be seen in %s", theme => {
  for (const name of ["line-strong", "focus", "accent"]) {
    expect(contrast(colour(name, theme), colour("canvas", theme))).toBeGreaterThanOrEqual(3);
  }
});

it("texts have the sizes of the type scale and no others", () => {
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter(
    name => /\.(tsx|css)$/.test(name) && !/\.test\./.test(name),
  );
  const others = files.flatMap(name => {
    const text = readFileSync(join(import.meta.dirname, name), "utf8");
    // In em: relative to the text around it, as code in a sentence is.
    const sizes = text.match(/text-\[\d[\d.]*(rem|px)\]|font-size: \d[\d.]*(rem|px)|fontSize/g) ?? [];
    return sizes.map(size => `${name}: ${size}`);
  });
  expect(others).toEqual([]);
});

function colour(name: string, theme: "light" | "dark"): string {
  const token = tokens.get(name);
  if (token === undefined) throw new Error(`page.css has no colour ${name}`);
  return token[theme];
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map(at => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map(value => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
