// Tooltips. One layer draws them for the whole page, because there are hundreds of buttons: what has `tip(...)` among
// its attributes is explained while it is pointed at or was reached by keyboard. It says what the element's name
// says already, so it is not read aloud.

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Keys } from "./Keys";
import { besides } from "./place";

/** So long something is pointed at before it is explained; what is next to it then is explained at once. */
const DELAY_MS = 400;
const LEAVE_MS = 150;

export interface TipAttributes {
  "data-tip": string;
  "data-tip-keys"?: string | undefined;
}

export function tip(text: string, keys?: string): TipAttributes {
  return { "data-tip": text, "data-tip-keys": keys };
}

/** Stands once on the page. */
export function Tips() {
  const layer = useRef<HTMLDivElement>(null);
  const anchor = useExplained(layer);
  useLayoutEffect(() => {
    const element = layer.current;
    if (anchor === null || element === null) return;
    element.showPopover();
    const at = besides(anchor.getBoundingClientRect(), element.getBoundingClientRect(), {
      width: innerWidth,
      height: innerHeight,
    });
    element.style.left = `${at.left}px`;
    element.style.top = `${at.top}px`;
    return () => element.hidePopover();
  }, [anchor]);
  return (
    <div
      ref={layer}
      aria-hidden
      // Above everything, dialogs included.
      popover="manual"
      data-testid="tip"
      className="inset-auto m-0 max-w-72 items-center gap-2 rounded-md bg-text px-2 py-1 text-canvas text-xs shadow-lift open:flex"
    >
      {anchor?.dataset.tip}
      {anchor?.dataset.tipKeys && <Keys keys={anchor.dataset.tipKeys} onDark />}
    </div>
  );
}

/** The element that is explained now. */
function useExplained(layer: RefObject<HTMLElement | null>): HTMLElement | null {
  const [explained, setExplained] = useState<HTMLElement | null>(null);
  useEffect(() => {
    const listening = new AbortController();
    const options = { passive: true, capture: true, signal: listening.signal };
    let shown: HTMLElement | null = null;
    let wanted: HTMLElement | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const explain = (element: HTMLElement | null) => {
      clearTimeout(timer);
      shown = element;
      wanted = element;
      setExplained(element);
    };
    const onOver = (event: PointerEvent) => {
      const target = event.target as Element;
      // Who reads the explanation may point at it.
      const found = layer.current?.contains(target) ? shown : target.closest<HTMLElement>("[data-tip]");
      if (event.pointerType === "touch" || found === wanted) return;
      wanted = found;
      clearTimeout(timer);
      if (found !== null && shown !== null) explain(found);
      else if (found !== shown)
        timer = setTimeout(() => explain(found), found === null ? LEAVE_MS : DELAY_MS);
    };
    const onFocus = ({ target }: FocusEvent) => {
      const found = target instanceof HTMLElement && target.matches(":focus-visible") ? target : null;
      if (found?.dataset.tip !== undefined) explain(found);
    };
    const hide = () => explain(null);
    document.addEventListener("pointerover", onOver, options);
    document.addEventListener("focusin", onFocus, options);
    document.addEventListener("focusout", hide, options);
    document.addEventListener("pointerdown", hide, options);
    document.addEventListener("keydown", event => event.key === "Escape" && hide(), options);
    // It stays where it was while what it explains moves away.
    const onScroll = ({ target }: Event) => (target as Node).contains(shown) && hide();
    document.addEventListener("scroll", onScroll, options);
    return () => {
      listening.abort();
      clearTimeout(timer);
    };
  }, [layer]);
  return explained;
}
