import { expect, it } from "vitest";
import { foundPieces } from "./found";

it("the words of a search are marked where they are", () => {
  expect(foundPieces("The Zebra and the zebrafish", "zebra the")).toEqual([
    { text: "The", found: true },
    { text: " ", found: false },
    { text: "Zebra", found: true },
    { text: " and ", found: false },
    { text: "the", found: true },
    { text: " ", found: false },
    { text: "zebra", found: true },
    { text: "fish", found: false },
  ]);
  expect(foundPieces("nothing", "  ")).toEqual([{ text: "nothing", found: false }]);
});
