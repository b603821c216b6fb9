import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { dismissAbout, toast, useView } from "./view";

const shown = () => useView.getState().toasts.map(one => one.text);
const action = { title: "Open", run: () => undefined };

describe("a note in the corner", () => {
  beforeEach(() => {
    vi.useFakeTimers();
    useView.setState({ toasts: [] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("goes by itself unless it asks for something", () => {
    toast("copied", "good");
    toast("Garden is done", "good", { action, about: "a" });
    toast("Harbour needs you", "attention", { action, about: "b" });
    vi.runAllTimers();
    expect(shown()).toEqual(["Harbour needs you"]);
  });

  it("is replaced by the next about the same chat", () => {
    toast("Garden is done", "good", { action, about: "a" });
    toast("Harbour is done", "good", { action, about: "b" });
    toast("Garden needs you", "attention", { action, about: "a" });
    expect(shown()).toEqual(["Harbour is done", "Garden needs you"]);
  });

  it("is answered by looking at the chat it speaks of", () => {
    toast("Garden needs you", "attention", { action, about: "a" });
    toast("Harbour needs you", "attention", { action, about: "b" });
    dismissAbout("a");
    expect(shown()).toEqual(["Harbour needs you"]);
  });
});
