import { expect, it } from "vitest";
import { best } from "./best";

const TITLES = ["Theme: dark", "New chat", "Archive this chat", "Search chats", "Export as Markdown"];
const found = (query: string) => best(query, TITLES, title => title);

it("puts what is meant first", () => {
  expect(found("new")[0]).toBe("New chat");
  expect(found("chat").slice(0, 3)).toEqual(["New chat", "Archive this chat", "Search chats"]);
  expect(found("dark theme")).toEqual(["Theme: dark"]);
  expect(found("exmd")).toEqual(["Export as Markdown"]);
  expect(found("zzz")).toEqual([]);
  expect(found("")).toEqual(TITLES);
});
