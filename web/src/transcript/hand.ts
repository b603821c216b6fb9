// The reader's hand on what scrolls: the wheel, keys, a finger, a pressed pointer. It tells nothing of where the
// reader goes; it tells that it may be the reader who goes there.

/** up: has just asked to go up.  held: a finger or a pointer is down, the bar's included.  away: neither. */
export type Hand = "up" | "held" | "away";

/** What was asked for with the wheel or a key begins to move within this time. */
export const MEANT_MS = 300;

export interface Watch {
  hand: () => Hand;
  stop: () => void;
}

export function watchHand(element: HTMLElement): Watch {
  const watch = new AbortController();
  const listening = { passive: true, signal: watch.signal };
  let upUntil = 0;
  let held = false;
  const up = () => {
    // What is at its beginning already does not move.
    if (element.scrollTop > 0) upUntil = performance.now() + MEANT_MS;
  };
  const hold = () => {
    held = true;
  };
  const release = () => {
    held = false;
  };

  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) return; // that is zooming
    if (event.deltaY < 0) up();
    else upUntil = 0;
  };
  element.addEventListener("wheel", onWheel, listening);
  element.addEventListener("keydown", event => goesUp(event) && up(), listening);
  element.addEventListener("pointerdown", event => event.pointerType !== "touch" && hold(), listening);
  for (const ending of ["pointerup", "pointercancel"] as const)
    window.addEventListener(ending, release, listening);
  // A bar that is let go of tells nobody in some browsers, but the pointer moves on.
  const onMove = (event: PointerEvent) => event.pointerType !== "touch" && event.buttons === 0 && release();
  window.addEventListener("pointermove", onMove, listening);
  // Pointers of fingers are cancelled when the browser begins to scroll with them: touches are not.
  element.addEventListener("touchstart", hold, listening);
  for (const ending of ["touchend", "touchcancel"] as const)
    window.addEventListener(ending, release, listening);

  return {
    hand: () => (performance.now() < upUntil ? "up" : held ? "held" : "away"),
    stop: () => watch.abort(),
  };
}

export interface Pressed {
  key: string;
  shiftKey: boolean;
  target: EventTarget | null;
}

/** Keys with which a browser scrolls up, or moves the focus up and scrolls after it. */
export function goesUp({ key, shiftKey, target }: Pressed): boolean {
  if (isWritten(target)) return false;
  if (shiftKey) return key === " " || key === "Tab";
  return key === "ArrowUp" || key === "PageUp" || key === "Home";
}

function isWritten(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && target.closest("input, textarea, select, [contenteditable]") !== null
  );
}
