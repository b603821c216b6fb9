// Text as it is, in a box that scrolls.

import clsx from "clsx";
import type { ReactNode } from "react";

export function ScrolledText({ className, children }: { className?: string; children: ReactNode }) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={clsx("overflow-auto whitespace-pre-wrap break-words", className)}
    >
      {children}
    </pre>
  );
}
