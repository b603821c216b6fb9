import { expect, it } from "vitest";
import { messageOf } from "./linked";

it("asks a chat only for messages that its own address names", () => {
  expect(messageOf({ pathname: "/chats/new", hash: "m1" }, "new")).toBe("m1");
  expect(messageOf({ pathname: "/chats/new/", hash: "m1" }, "new")).toBe("m1");
  // The chat before is still shown when the address is the next one's.
  expect(messageOf({ pathname: "/chats/new", hash: "m1" }, "old")).toBe("");
});
