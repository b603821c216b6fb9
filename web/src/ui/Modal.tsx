// A dialog of the browser's own: it keeps the focus, closes with Escape, and covers what is behind it.

import clsx from "clsx";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";
import { texts } from "@/texts";
import { IconButton } from "./Button";

interface Props {
  title: string;
  /** The title is for screen readers alone. */
  bare?: boolean;
  wide?: boolean;
  /** For lines of code. */
  reading?: boolean;
  /** All of the window. */
  full?: boolean;
  onClose: () => void;
  /** What has `data-first` gets the focus. */
  children: ReactNode;
}

export function Modal(props: Props) {
  const { title, bare = false, wide = false, reading = false, full = false, onClose, children } = props;
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    dialog?.showModal();
    // Not the close button, which the browser would take: its tooltip would open.
    (dialog?.querySelector<HTMLElement>("[data-first]") ?? dialog)?.focus();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog; Escape does the same
    <dialog
      ref={ref}
      tabIndex={-1}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault();
        onClose();
      }}
      onClick={event => event.target === ref.current && onClose()}
      className={clsx(
        "m-auto w-[calc(100vw-2rem)] overflow-hidden rounded-xl border border-line bg-raised p-0 shadow-lift outline-none",
        full ? "max-h-[94dvh] max-w-none" : "max-h-[min(85dvh,48rem)]",
        bare && !full && "mt-[12dvh]",
        !full && (reading ? "max-w-5xl" : wide ? "max-w-3xl" : "max-w-lg"),
      )}
    >
      <div className={clsx("flex flex-col", full ? "max-h-[94dvh]" : "max-h-[min(85dvh,48rem)]")}>
        <div
          className={
            bare ? "sr-only" : "flex items-center justify-between border-line border-b py-2 pr-2 pl-4"
          }
        >
          <h2 id={id} className="font-semibold text-base">
            {title}
          </h2>
          {!bare && <IconButton icon={X} label={texts.common.close} onClick={onClose} />}
        </div>
        <div
          // What scrolls must be reachable by keyboard; the palette's list is.
          tabIndex={bare ? undefined : 0}
          className={clsx("min-h-0 flex-1 overflow-y-auto outline-none", !bare && "p-4")}
        >
          {children}
        </div>
      </div>
    </dialog>
  );
}
