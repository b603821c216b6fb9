// What of the trace is shown: words, kinds, and the part of a turn's time.

import clsx from "clsx";
import { ChevronLeft, ChevronRight, Search, X, ZoomIn, ZoomOut } from "lucide-react";
import type { ReactNode } from "react";
import type { Span } from "@/api/schema";
import { toggled } from "@/panels/toggled";
import { texts } from "@/texts";
import { IconButton } from "@/ui/Button";
import type { Filter } from "./layout";
import { isAll, moved, type Shown, zoomed } from "./scale";

const t = texts.panels.trace;

const KINDS: readonly Span["kind"][] = ["model_call", "tool_call", "agent", "compaction", "check", "hook"];
const CLOSER = 2;
const A_STEP = 0.5;

interface Props {
  filter: Filter;
  onFilter: (filter: Filter) => void;
  shown: Shown;
  onShown: (shown: Shown) => void;
  /** The kinds that there are. */
  known: ReadonlySet<Span["kind"]>;
}

export function Toolbar({ filter, onFilter, shown, onShown, known }: Props) {
  return (
    <div className="flex shrink-0 flex-col gap-1.5 border-line border-b px-2 py-1.5">
      <div className="flex items-center gap-1">
        <div className="relative min-w-0 flex-1">
          <Search
            aria-hidden
            className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2 size-3.5 text-faint"
          />
          <input
            type="text"
            value={filter.words}
            aria-label={t.searchHint}
            placeholder={t.search}
            autoComplete="off"
            onChange={event => onFilter({ ...filter, words: event.target.value })}
            className="h-7 w-full rounded-md border border-line bg-canvas pr-7 pl-7 text-xs placeholder:text-faint"
          />
          {filter.words !== "" && (
            <button
              type="button"
              aria-label={t.clear}
              onClick={() => onFilter({ ...filter, words: "" })}
              className="-translate-y-1/2 absolute top-1/2 right-1 flex size-5 items-center justify-center rounded text-faint hover:text-text"
            >
              <X aria-hidden className="size-3.5" />
            </button>
          )}
        </div>
        <Zoom shown={shown} onShown={onShown} />
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for what is sent */}
      <div role="group" aria-label={t.filter} className="flex flex-wrap gap-1">
        {KINDS.filter(kind => known.has(kind)).map(kind => (
          <Chip
            key={kind}
            chosen={filter.kinds.has(kind)}
            onClick={() => onFilter({ ...filter, kinds: toggled(filter.kinds, kind) })}
          >
            {t.short[kind]}
          </Chip>
        ))}
        <Chip
          chosen={filter.failedOnly}
          onClick={() => onFilter({ ...filter, failedOnly: !filter.failedOnly })}
        >
          {t.failed}
        </Chip>
      </div>
    </div>
  );
}

function Zoom({ shown, onShown }: Pick<Props, "shown" | "onShown">) {
  const all = isAll(shown);
  return (
    <div className="flex shrink-0">
      {!all && (
        <>
          <IconButton
            small
            icon={ChevronLeft}
            label={t.earlier}
            disabled={shown.from <= 0}
            onClick={() => onShown(moved(shown, -A_STEP))}
          />
          <IconButton
            small
            icon={ChevronRight}
            label={t.later}
            disabled={shown.to >= 1}
            onClick={() => onShown(moved(shown, A_STEP))}
          />
        </>
      )}
      <IconButton
        small
        icon={ZoomOut}
        label={t.zoomOut}
        disabled={all}
        onClick={() => onShown(zoomed(shown, 1 / CLOSER))}
      />
      <IconButton small icon={ZoomIn} label={t.zoomIn} onClick={() => onShown(zoomed(shown, CLOSER))} />
    </div>
  );
}

function Chip({ chosen, onClick, children }: { chosen: boolean; onClick: () => void; children: ReactNode }) {
  return (
    <button
      type="button"
      aria-pressed={chosen}
      onClick={onClick}
      className={clsx(
        "h-6 rounded-full border px-2 text-xs",
        chosen ? "border-accent bg-accent-soft text-accent-text" : "border-line text-soft hover:bg-hover",
      )}
    >
      {children}
    </button>
  );
}
