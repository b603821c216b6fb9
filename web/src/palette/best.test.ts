import { expect, it } from "vitest";
import { best, bestFirst } from "./best";

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

it("puts the group first in which it stands, and leaves equals as they are", () => {
  const groups = [
    { heading: "Chats", items: ["Two approvals"] },
    { heading: "Nothing", items: [] },
    { heading: "View", items: ["Open panel: Trace"] },
    { heading: "Settings", items: ["Settings: Approvals"] },
  ];
  const headings = (query: string) => bestFirst(query, groups, title => title).map(group => group.heading);
  expect(headings("tra")).toEqual(["View", "Chats", "Settings"]);
  expect(headings("approvals")).toEqual(["Chats", "Settings", "View"]);
  expect(headings("")).toEqual(["Chats", "View", "Settings"]);
});
