import { expect, it } from "vitest";
import { parseDiff } from "@/panels/changes/parse";
import { highlight } from "@/transcript/markdown/highlight";
import { colouredLines } from "./diffColours";

const DIFF = `--- a/x.py
+++ b/x.py
@@ -1,3 +1,3 @@
 def f():
-    return "old"
+    return "new"
 # end
`;

it("colours both sides of a change and loses no character", () => {
  const [file] = parseDiff(DIFF);
  if (file === undefined) throw new Error("no file");
  const colours = colouredLines(file, highlight);
  for (const line of file.hunks.flatMap(hunk => [...hunk.lines])) {
    expect(
      colours
        .get(line)
        ?.map(piece => piece.text)
        .join(""),
    ).toBe(line.text);
  }
  const added = file.hunks[0]?.lines.find(line => line.kind === "added");
  expect(added && colours.get(added)).toContainEqual({ text: '"new"', kind: "hljs-string" });
});

it("leaves files of unknown kinds plain", () => {
  const [file] = parseDiff(DIFF.replaceAll("x.py", "LICENSE"));
  expect(file && colouredLines(file, highlight).size).toBe(0);
});
