// Where something small stands that belongs to an element: above it, else below, and inside of the window. Pure.

const GAP_PX = 5;
const MARGIN_PX = 8;

export interface Size {
  width: number;
  height: number;
}

export interface Box extends Size {
  left: number;
  top: number;
}

export function besides(anchor: Box, own: Size, window: Size): Pick<Box, "left" | "top"> {
  const middle = anchor.left + anchor.width / 2 - own.width / 2;
  const above = anchor.top - own.height - GAP_PX;
  const rightmost = window.width - own.width - MARGIN_PX;
  return {
    left: Math.round(Math.max(MARGIN_PX, Math.min(middle, rightmost))),
    top: Math.round(above >= MARGIN_PX ? above : anchor.top + anchor.height + GAP_PX),
  };
}
