// A menu of actions behind a button. Not modal: that would put a style into the document, which the content
// security policy forbids.

import clsx from "clsx";
import { Check, type LucideIcon } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { type ReactNode, useCallback, useState } from "react";
import { Keys } from "./Keys";

export function Menu({
  trigger,
  children,
  align = "end",
}: {
  trigger: ReactNode;
  children: ReactNode;
  align?: "start" | "end";
}) {
  // Inside of the dialog or drawer that the button stands in: what is outside of one is covered, and hears nothing.
  const [inside, setInside] = useState<HTMLElement | null>(null);
  const find = useCallback((button: HTMLElement | null) => setInside(button?.closest("dialog") ?? null), []);
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger ref={find} asChild>
        {trigger}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={inside}>
        <DropdownMenu.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-(--radix-dropdown-menu-content-available-height) min-w-48 max-w-80 overflow-y-auto rounded-lg border border-line bg-raised p-1 text-sm shadow-lift"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

interface ItemProps {
  icon?: LucideIcon | undefined;
  keys?: string | undefined;
  danger?: boolean;
  /** Of one among several: whether it is the chosen one. */
  checked?: boolean;
  hint?: string;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon: Icon, keys, danger, checked, hint, onSelect, children }: ItemProps) {
  return (
    <DropdownMenu.Item
      onSelect={onSelect}
      className={clsx(
        "flex cursor-pointer select-none items-center gap-2 rounded-md px-2 py-1.5 outline-none data-highlighted:bg-hover",
        danger && "text-bad",
      )}
    >
      {Icon && <Icon aria-hidden className="size-4 shrink-0 opacity-80" />}
      <span className="min-w-0 flex-1">
        <span className="block truncate">{children}</span>
        {hint && <span className="block truncate text-faint text-xs">{hint}</span>}
      </span>
      {checked && <Check aria-label="✓" className="size-4 shrink-0 text-accent-text" />}
      {keys && <Keys keys={keys} />}
    </DropdownMenu.Item>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}

export function MenuTitle({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="px-2 pt-1.5 pb-1 text-faint text-xs">{children}</DropdownMenu.Label>;
}
