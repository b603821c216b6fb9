// A column that covers the page from one side, on screens that have no room for it.

import clsx from "clsx";
import { type ReactNode, useEffect, useRef } from "react";
import { Boundary } from "@/ui/Boundary";

interface Props {
  side: "left" | "right";
  label: string;
  onClose: () => void;
  children: ReactNode;
}

export function Drawer({ side, label, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    dialog?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the drawer; Escape does the same
    <dialog
      ref={ref}
      tabIndex={-1}
      aria-label={label}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
      onClick={event => event.target === ref.current && onClose()}
      className={clsx(
        "fixed inset-y-0 m-0 h-dvh max-h-none overflow-hidden border-0 bg-sunken p-0 shadow-lift outline-none",
        side === "left" ? "left-0 w-[min(86vw,22rem)]" : "right-0 left-auto w-[min(94vw,32rem)]",
      )}
    >
      <Boundary>{children}</Boundary>
    </dialog>
  );
}
