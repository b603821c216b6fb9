// Where a person is led when an agent asks: to the request, unless they are writing. Keys answer the request that
// has the focus, else the first one on the page.

import { type RefObject, useEffect } from "react";
import { toEnd } from "@/transcript/follow";

/** Who typed so recently is not interrupted, and whose keys come so soon did not mean the request. */
const TYPING_MS = 1500;
const SURPRISE_MS = 600;

let typedAt = Number.NEGATIVE_INFINITY;
let ledAt = Number.NEGATIVE_INFINITY;
/** A request that appeared while a message was being sent, when its text still stood in the composer. */
let arrivedWhileSending: HTMLElement | null = null;

if (typeof document !== "undefined") {
  document.addEventListener(
    "keydown",
    event => {
      if (!isField(event.target)) return;
      // Who has just sent something does not write any more.
      if (event.key === "Enter") typedAt = Number.NEGATIVE_INFINITY;
      else {
        typedAt = performance.now();
        arrivedWhileSending = null;
      }
    },
    { capture: true, passive: true },
  );
}

/** Takes the focus when the request appears; gives it to the next request, or to the composer, when it goes. */
export function useLedTo(card: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const own = card.current;
    if (own !== null && mayLead()) leadTo(own);
    else if (typedAt === Number.NEGATIVE_INFINITY) arrivedWhileSending = own;
    return () => {
      if (own === null || !(own.contains(document.activeElement) || document.activeElement === document.body))
        return;
      // The next request stands in a moment; the composer is there anyway.
      requestAnimationFrame(() => {
        if (document.activeElement === document.body || document.activeElement === null) {
          (asks()[0] ?? document.getElementById("composer"))?.focus({ preventScroll: true });
        }
      });
    };
  }, [card]);
}

/** After a message was sent: to the request that appeared meanwhile. Whether there is one. */
export function leadAfterSending(): boolean {
  const own = arrivedWhileSending;
  arrivedWhileSending = null;
  if (own?.isConnected) leadTo(own);
  return document.activeElement?.closest("[data-testid=ask]") != null;
}

function leadTo(card: HTMLElement): void {
  ledAt = performance.now();
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
}

const asks = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>("[data-testid=ask]")];

function mayLead(): boolean {
  if (document.querySelector("dialog[open]") || performance.now() - typedAt < TYPING_MS) return false;
  const active = document.activeElement;
  if (active?.closest("[data-testid=ask]")) return false;
  if (!isField(active)) return true;
  return active.id === "composer" && (active as HTMLTextAreaElement).value === "";
}

function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Presses a button of the request that is meant. What must be seen first is shown instead. */
export function pressInAsk(key: "y" | "a" | "n"): void {
  if (performance.now() - ledAt < SURPRISE_MS) return;
  const all = asks().filter(one => one.querySelector("[data-ask-key]"));
  const meant = all.find(one => one.contains(document.activeElement)) ?? all[0];
  const button = meant?.querySelector<HTMLButtonElement>(`[data-ask-key=${key}]`);
  if (button?.disabled) {
    meant?.querySelector<HTMLButtonElement>("[data-ask-open]")?.click();
    meant?.focus();
  } else button?.click();
}

/** To the next request of the chat that is shown. Whether there is one. */
export function toNextAsk(): void {
  toEnd();
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const all = asks();
      const at = all.findIndex(one => one.contains(document.activeElement));
      const next = all[(at + 1) % all.length];
      next?.focus({ preventScroll: true });
      next?.scrollIntoView({ block: "nearest" });
    }),
  );
}
