// Whether the composer takes the focus when a chat is opened. Not on a phone, where a keyboard would cover the
// conversation; not when somebody walks from chat to chat by single keys, which would end there.

import { useView } from "@/ui/view";

let walking = false;

/** The next chat is opened without taking the focus. */
export function walkOn(): void {
  walking = true;
}

export function takesFocus(): boolean {
  const walked = walking;
  walking = false;
  if (walked || !useView.getState().wide || document.querySelector("dialog[open]")) return false;
  const active = document.activeElement;
  return active === null || active === document.body || active.closest("nav, a, #composer") !== null;
}
