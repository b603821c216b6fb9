// The edge of a column: dragged, or moved with the arrow keys.

import clsx from "clsx";
import type { KeyboardEvent, PointerEvent } from "react";

interface Props {
  label: string;
  /** At which side of its column it stands. */
  side: "left" | "right";
  width: number;
  least: number;
  most: number;
  onWidth: (width: number) => void;
}

const STEP = 24;

export function Resizer({ label, side, width, least, most, onWidth }: Props) {
  const set = (wanted: number) => onWidth(Math.round(Math.min(most, Math.max(least, wanted))));
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    const handle = event.currentTarget;
    const from = event.clientX;
    handle.setPointerCapture(event.pointerId);
    const onMove = (move: globalThis.PointerEvent) =>
      set(width + (move.clientX - from) * (side === "right" ? 1 : -1));
    handle.addEventListener("pointermove", onMove);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", onMove), {
      once: true,
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const grow = side === "right" ? "ArrowRight" : "ArrowLeft";
    const shrink = side === "right" ? "ArrowLeft" : "ArrowRight";
    if (event.key === grow) set(width + STEP);
    else if (event.key === shrink) set(width - STEP);
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves is no <hr>
    <div
      role="separator"
      aria-label={label}
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
      className={clsx(
        "absolute top-0 bottom-0 z-10 w-1.5 touch-none cursor-col-resize transition-colors hover:bg-accent/40 focus-visible:bg-accent/60",
        side === "right" ? "-right-[3px]" : "-left-[3px]",
      )}
    />
  );
}
