// Short notes in a corner. What asks for something stays until it is answered.

import clsx from "clsx";
import { X } from "lucide-react";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import { dismiss, type Toast, useView } from "@/ui/view";

const LOOK: Record<Toast["kind"], string> = {
  info: "border-line",
  good: "border-good/50",
  bad: "border-bad/60",
  attention: "border-warn/60",
};

export function Toasts() {
  const toasts = useView(view => view.toasts);
  return (
    <section
      aria-label={texts.notify.region}
      className="pointer-events-none fixed top-14 right-3 z-40 flex w-[min(22rem,calc(100vw-1.5rem))] flex-col gap-2"
    >
      {toasts.map(one => (
        <div
          key={one.id}
          role={one.kind === "bad" ? "alert" : "status"}
          className={clsx(
            "pointer-events-auto flex items-center gap-2 rounded-lg border bg-raised py-1.5 pr-1.5 pl-3 text-sm shadow-lift",
            LOOK[one.kind],
          )}
        >
          <span className={clsx("min-w-0 flex-1 break-words", one.kind === "bad" && "text-bad")}>
            {one.text}
          </span>
          {one.action && (
            <Button
              small
              onClick={() => {
                one.action?.run();
                dismiss(one.id);
              }}
            >
              {one.action.title}
            </Button>
          )}
          <IconButton small icon={X} label={texts.notify.dismiss} onClick={() => dismiss(one.id)} />
        </div>
      ))}
    </section>
  );
}
