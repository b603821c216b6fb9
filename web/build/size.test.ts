// The first load: everything that index.html names, and what those files import at once, compressed.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const BUILT = join(import.meta.dirname, "../../src/holdfast/page");
const MOST_BYTES = 400 * 1024;

it.skipIf(!existsSync(join(BUILT, "index.html")))("is at most 400 kB", () => {
  const html = readFileSync(join(BUILT, "index.html"), "utf8");
  const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(match => match[1] ?? "");
  expect(first.length).toBeGreaterThan(1);
  const size = [...withImports(first)].reduce((sum, name) => sum + compressedSize(name), 0);
  expect(size).toBeGreaterThan(50_000);
  expect(size).toBeLessThan(MOST_BYTES);
});

it.skipIf(!existsSync(join(BUILT, "index.html")))("has nothing inline that the policy would refuse", () => {
  const html = readFileSync(join(BUILT, "index.html"), "utf8");
  expect(html).not.toMatch(/<style|style="|<script(?![^>]*src=)|javascript:/);
  expect(readdirSync(join(BUILT, "assets")).some(name => name.endsWith(".js.br"))).toBe(true);
});

/** Chunks that a file imports without waiting for anybody. */
function withImports(names: readonly string[], found = new Set<string>()): Set<string> {
  for (const name of names) {
    if (found.has(name)) continue;
    found.add(name);
    if (!name.endsWith(".js")) continue;
    const code = readFileSync(join(BUILT, name), "utf8");
    const imported = [...code.matchAll(/(?:import|from)\s*"\.\/([\w.-]+\.js)"/g)].map(
      match => `assets/${match[1]}`,
    );
    withImports(imported, found);
  }
  return found;
}

function compressedSize(name: string): number {
  const path = join(BUILT, name);
  return readFileSync(existsSync(`${path}.br`) ? `${path}.br` : path).length;
}
