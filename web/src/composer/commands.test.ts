import { expect, it } from "vitest";
import { type Command, commandIn, nearest, workflowIn } from "./suggestions";
import { refusal } from "./upload";

const commands: Command[] = ["compact", "model fast", "workflow", "export html"].map(name => ({
  name,
  hint: "",
}));

it("a text that begins like a command is asked about", () => {
  expect(commandIn("/compct now")).toEqual({ name: "compct", rest: "now" });
  expect(commandIn("/etc/passwd is a file")).toBeNull();
  expect(commandIn("say /compact")).toBeNull();
  expect(nearest(commands, "compct")).toBe("compact");
  expect(nearest(commands, "nonsense")).toBeNull();
});

it("a workflow is started with its arguments", () => {
  expect(workflowIn('review {"path": "src"}')).toEqual({ name: "review", args: { path: "src" } });
  expect(workflowIn("review")).toEqual({ name: "review", args: undefined });
  expect(workflowIn("review {bad}")).toBe("bad_json");
  expect(workflowIn('review {"path": ')).toBe("bad_json");
  expect(workflowIn("two words")).toBeNull();
});

it("files are looked at before they are sent", () => {
  const limits = { maxBytes: 1024 * 1024, model: "small", inputs: ["text"] };
  const file = (type: string, size = 10) => ({ name: "x", type, size });
  expect(refusal(file("text/plain"), limits)).toBeNull();
  expect(refusal(file("text/plain", 2 * 1024 * 1024), limits)).toContain(
    "2.0 MB. Files can be at most 1.0 MB",
  );
  expect(refusal(file("image/png"), limits)).toContain("small doesn't accept images");
  expect(refusal(file("image/png"), { ...limits, inputs: ["text", "image"] })).toBeNull();
  expect(refusal(file("image/tiff"), limits)).toContain("PNG, JPEG, GIF or WebP");
  expect(refusal(file("video/mp4"), limits)).toContain("can't be attached");
  expect(refusal(file("text/plain", 0), limits)).toContain("is empty");
});
