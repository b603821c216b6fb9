// A tooltip, with the keys of the action where there are some.

import { Tooltip } from "radix-ui";
import type { ReactNode } from "react";
import { Keys } from "./Keys";

export const TipProvider = Tooltip.Provider;

export function Tip({
  text,
  keys,
  children,
}: {
  text: ReactNode;
  keys?: string | undefined;
  children: ReactNode;
}) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content
          sideOffset={5}
          collisionPadding={8}
          className="z-50 flex max-w-72 items-center gap-2 rounded-md bg-text px-2 py-1 text-canvas text-xs shadow-lift"
        >
          {text}
          {keys && <Keys keys={keys} onDark />}
        </Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
