// The panels beside the conversation: tabs, a width that is remembered; on a phone, a drawer.

import clsx from "clsx";
import { ChevronsRight, X } from "lucide-react";
import {
  type ComponentType,
  type KeyboardEvent,
  lazy,
  type RefObject,
  Suspense,
  useEffect,
  useRef,
  useState,
} from "react";
import { useChat } from "@/feed/hooks";
import { openPanel } from "@/panels/actions";
import { PANELS, type PanelEntry, type PanelProps } from "@/panels/registry";
import { texts } from "@/texts";
import { Boundary } from "@/ui/Boundary";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";
import { PANEL_WIDTHS, prefer, usePreferences } from "@/ui/preferences";
import { draw, useView } from "@/ui/view";
import { Drawer } from "./Drawer";
import { Resizer } from "./Resizer";

const LOADED = new Map<string, ComponentType<PanelProps>>(PANELS.map(panel => [panel.id, lazy(panel.load)]));

export function Panels({ chatId }: { chatId: string }) {
  const wide = useView(view => view.wide);
  const drawer = useView(view => view.drawer);
  const { panelOpen, panelWidth } = usePreferences();
  if (PANELS.length === 0) return null;
  if (!wide) {
    return drawer === "panel" ? (
      <Drawer side="right" label={texts.shell.panels} onClose={() => draw(null)}>
        <Tabs chatId={chatId} onClose={() => draw(null)} />
      </Drawer>
    ) : null;
  }
  if (!panelOpen) return null;
  return (
    <aside
      aria-label={texts.shell.panels}
      className="relative max-w-[60vw] shrink-0 border-l bg-canvas"
      style={{ width: panelWidth }}
    >
      <Resizer
        label={texts.shell.resizePanel}
        side="left"
        width={panelWidth}
        {...PANEL_WIDTHS}
        onWidth={width => prefer({ panelWidth: width })}
      />
      <Tabs chatId={chatId} onClose={() => prefer({ panelOpen: false })} />
    </aside>
  );
}

function Tabs({ chatId, onClose }: { chatId: string; onClose: () => void }) {
  const offered = useChat(state => PANELS.map(panel => panel.when?.(state) ?? true).join());
  const shown = PANELS.filter((_, index) => offered.split(",")[index] === "true");
  const wanted = usePreferences(state => state.panel);
  const list = useRef<HTMLDivElement>(null);
  const overflows = useOverflow(list, shown.length);
  const panel = shown.find(one => one.id === wanted) ?? shown[0];
  if (panel === undefined) return null;
  const Panel = LOADED.get(panel.id);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = shown[(shown.indexOf(panel) + step + shown.length) % shown.length];
    if (step === 0 || next === undefined) return;
    event.preventDefault();
    openPanel(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
    <div className="flex h-full flex-col bg-canvas">
      <div className="flex h-12 shrink-0 items-center gap-1 border-b pr-2 pl-3">
        <div
          ref={list}
          role="tablist"
          aria-label={texts.shell.panelTabs}
          onKeyDown={onKeyDown}
          className="flex min-w-0 flex-1 gap-0.5 overflow-x-auto [scrollbar-width:none]"
        >
          {shown.map(one => (
            <Tab key={one.id} chatId={chatId} panel={one} chosen={one === panel} />
          ))}
        </div>
        {overflows && (
          <Menu trigger={<IconButton icon={ChevronsRight} label={texts.shell.allPanels} />}>
            {shown.map(one => (
              <MenuItem key={one.id} checked={one === panel} onSelect={() => openPanel(one.id)}>
                {one.title}
              </MenuItem>
            ))}
          </Menu>
        )}
        <IconButton icon={X} label={texts.shell.closePanel} onClick={onClose} />
      </div>
      <div
        role="tabpanel"
        id={`panel-${panel.id}`}
        aria-labelledby={`tab-${panel.id}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel that scrolls must be reachable by keyboard
        tabIndex={0}
        className="min-h-0 flex-1 overflow-y-auto outline-none"
      >
        <Boundary attempt={`${panel.id} ${chatId}`}>
          <Suspense fallback={<p className="p-4 text-faint text-sm">{texts.common.loading}</p>}>
            {Panel && <Panel key={panel.id} chatId={chatId} />}
          </Suspense>
        </Boundary>
      </div>
    </div>
  );
}

/** Whether there is more in it than fits. */
function useOverflow(list: RefObject<HTMLElement | null>, count: number): boolean {
  const [overflows, setOverflows] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab changes what fits, not the size of the list
  useEffect(() => {
    const element = list.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setOverflows(element.scrollWidth > element.clientWidth + 1));
    observer.observe(element);
    return () => observer.disconnect();
  }, [list, count]);
  return overflows;
}

const useNoCount = () => 0;

function Tab({ chatId, panel, chosen }: { chatId: string; panel: PanelEntry; chosen: boolean }) {
  const told = useChat(state => panel.count?.(state) ?? 0);
  const useCount = panel.useCount ?? useNoCount;
  const count = told + useCount(chatId);
  const ref = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!chosen) return;
    // A drawer has a size only when it is shown.
    const frame = requestAnimationFrame(() =>
      ref.current?.scrollIntoView({ block: "nearest", inline: "nearest" }),
    );
    return () => cancelAnimationFrame(frame);
  }, [chosen]);
  return (
    <button
      ref={ref}
      type="button"
      role="tab"
      id={`tab-${panel.id}`}
      aria-selected={chosen}
      aria-controls={chosen ? `panel-${panel.id}` : undefined}
      tabIndex={chosen ? 0 : -1}
      onClick={() => openPanel(panel.id)}
      className={clsx(
        "flex h-8 shrink-0 items-center gap-1.5 rounded-md px-2 text-sm",
        chosen ? "bg-chosen font-medium" : "text-soft hover:bg-hover hover:text-text",
      )}
    >
      {panel.title}
      {count > 0 && (
        <span
          className={clsx(
            "tabular rounded-full px-1.5 text-xs",
            panel.warns ? "bg-warn-soft text-warn" : "bg-accent-soft text-accent-text",
          )}
        >
          {count}
        </span>
      )}
    </button>
  );
}
