// The changed files as a list of lines. A line's number begins a comment; with shift it reaches from the line
// before. Only what is in sight is drawn.

import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { Check, ChevronRight, Undo2, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import type { ChangeShown } from "@/api/schema";
import { coloursOf } from "@/code/diffColours";
import { type Highlight, useHighlighter } from "@/code/useHighlighter";
import { useChat } from "@/feed/hooks";
import { toggled } from "@/panels/toggled";
import { texts } from "@/texts";
import { Button, IconButton } from "@/ui/Button";
import type { Verb } from "./agentFiles";
import { CollisionMark } from "./Collisions";
import { CommentCard, CommentEditor } from "./CommentRows";
import { useComments } from "./comments";
import { LineRow, PairRow } from "./Lines";
import type { DiffFile, Line } from "./parse";
import { type Editing, idOf, linesBetween, type Row, rowsOf } from "./rows";
import { byPath } from "./severity";

const t = texts.panels.changes;

interface Props {
  chatId: string;
  files: readonly DiffFile[];
  split: boolean;
  /** What can be done with the changes of a file; none: they are only looked at. */
  verbsOf?: (id: string) => readonly Verb[];
  stateOf?: (id: string) => ChangeShown["state"] | null;
  /** Reads the lines of a file that were left out. */
  onShow?: (id: string) => void;
  /** `hunk` null: all of the file. */
  onDecide?: (id: string, hunk: number | null, verb: Verb) => void;
}

const NONE: readonly never[] = [];

export function Diff({ chatId, files, split, verbsOf, stateOf, onShow, onDecide }: Props) {
  const comments = useComments(all => all[chatId]) ?? NONE;
  const [folds, setFolds] = useState<ReadonlySet<string>>(new Set());
  const [editing, setEditing] = useState<Editing | null>(null);
  const decided = onDecide !== undefined;
  const rows = useMemo(
    () => rowsOf(files, { split, toggled: folds, comments, editing, decided }),
    [files, split, folds, comments, editing, decided],
  );
  const highlight = useHighlighter();
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: index => HEIGHTS[rows[index]?.kind ?? "line"],
    getItemKey: index => rows[index]?.key ?? index,
    overscan: 20,
  });
  const onComment = useCallback((file: DiffFile, line: Line, extend: boolean) => {
    setEditing(before => {
      const first = before?.path === file.path ? before.lines[0] : undefined;
      const lines = extend && first !== undefined ? linesBetween(file, first, line) : [line];
      return { path: file.path, lines };
    });
  }, []);
  const toggle = (path: string) => setFolds(before => toggled(before, path));
  const items = virtual.getVirtualItems();
  return (
    <section
      ref={scroller}
      aria-label={t.label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      onKeyDown={event => {
        moveBetweenLines(event);
        if (onDecide !== undefined) onReviewKey(event);
      }}
      className="min-h-0 flex-1 overflow-y-auto overflow-x-hidden"
    >
      <div className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map(item => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={virtual.measureElement}
                data-index={item.index}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <RowView
                  row={row}
                  chatId={chatId}
                  editing={editing}
                  highlight={highlight}
                  onComment={onComment}
                  onToggle={toggle}
                  onDone={() => setEditing(null)}
                  verbsOf={verbsOf ?? noVerbs}
                  stateOf={stateOf ?? noState}
                  onShow={onShow ?? noVerbs}
                  onDecide={onDecide ?? noVerbs}
                />
              </div>
            )
          );
        })}
      </div>
    </section>
  );
}

const HEIGHTS: Record<Row["kind"], number> = {
  file: 36,
  note: 32,
  hunk: 24,
  line: 24,
  pair: 24,
  comment: 64,
  editor: 132,
};

/** Up and down from one line's number to the next. */
function moveBetweenLines(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.target instanceof HTMLElement) || !event.target.hasAttribute("data-line")) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-line]")].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  );
  const next = all[all.indexOf(event.target) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

interface RowProps {
  highlight: Highlight | null;
  row: Row;
  chatId: string;
  editing: Editing | null;
  onComment: (file: DiffFile, line: Line, extend: boolean) => void;
  onToggle: (id: string) => void;
  onDone: () => void;
  verbsOf: (id: string) => readonly Verb[];
  stateOf: (id: string) => ChangeShown["state"] | null;
  onShow: (id: string) => void;
  onDecide: (id: string, hunk: number | null, verb: Verb) => void;
}

const noVerbs = (): readonly Verb[] => NONE;
const noState = () => null;

function RowView(props: RowProps) {
  const { highlight, row, chatId, editing, onComment, onToggle, onDone, verbsOf, stateOf, onShow, onDecide } =
    props;
  switch (row.kind) {
    case "file":
      return (
        <FileHead
          file={row.file}
          open={row.open}
          onToggle={() => onToggle(idOf(row.file))}
          state={stateOf(idOf(row.file))}
        >
          <Verbs
            verbs={verbsOf(idOf(row.file))}
            what={row.file.path}
            onVerb={verb => onDecide(idOf(row.file), null, verb)}
          />
        </FileHead>
      );
    case "note":
      if (row.file.leftOut === true)
        return (
          <p className="flex items-center gap-2 px-3 py-1 text-faint text-xs">
            {t.leftOut}
            <Button small onClick={() => onShow(idOf(row.file))}>
              {t.showLines}
            </Button>
          </p>
        );
      return <p className="px-3 py-1.5 text-faint text-xs">{row.file.binary ? t.binary : t.noLines}</p>;
    case "hunk":
      return (
        <div data-review className="flex items-center gap-2 bg-sunken px-3 py-0.5 text-faint text-xs">
          <p className="min-w-0 flex-1 truncate font-mono">{row.text || "…"}</p>
          {row.file.hunks.length > 1 && (
            <Verbs
              verbs={verbsOf(idOf(row.file))}
              what={t.hunk(row.index + 1, row.file.path)}
              onVerb={verb => onDecide(idOf(row.file), row.index, verb)}
            />
          )}
        </div>
      );
    case "line":
      return (
        <LineRow
          colours={line => coloursOf(row.file, line, highlight)}
          line={row.line}
          other={row.other}
          chosen={editing?.lines.includes(row.line) ?? false}
          onComment={extend => onComment(row.file, row.line, extend)}
        />
      );
    case "pair":
      return (
        <PairRow
          colours={line => coloursOf(row.file, line, highlight)}
          pair={row.pair}
          chosen={editing?.lines ?? NONE}
          onComment={(line, extend) => onComment(row.file, line, extend)}
        />
      );
    case "comment":
      return <CommentCard chatId={chatId} comment={row.comment} />;
    case "editor":
      return <CommentEditor chatId={chatId} path={row.file.path} lines={row.lines} onDone={onDone} />;
  }
}

const ICONS = { apply: Check, reject: X, undo: Undo2 };
const KEYS: Record<string, Verb> = { a: "apply", r: "reject", u: "undo" };

/** What can be done with a file or a hunk. */
function Verbs(props: { verbs: readonly Verb[]; what: string; onVerb: (verb: Verb) => void }) {
  return props.verbs.map(verb => (
    <IconButton
      key={verb}
      small
      icon={ICONS[verb]}
      label={t.verbs[verb](props.what)}
      data-verb={verb}
      onClick={() => props.onVerb(verb)}
    />
  ));
}

/** j and k lead through files and hunks, a applies, r rejects, u takes back, c comments. */
function onReviewKey(event: KeyboardEvent<HTMLElement>): void {
  const target = event.target;
  if (!(target instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  if (["INPUT", "TEXTAREA"].includes(target.tagName)) return;
  const heads = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-review]")].sort(
    (one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top,
  );
  const here = target.closest<HTMLElement>("[data-review]");
  const at = here === null ? -1 : heads.indexOf(here);
  if (event.key === "j" || event.key === "k") {
    const next = heads[at + (event.key === "j" ? 1 : -1)];
    next?.querySelector<HTMLElement>("button")?.focus();
    next?.scrollIntoView({ block: "nearest" });
  } else if (event.key === "c") {
    const below = here?.closest("[data-index]")?.nextElementSibling;
    below?.querySelector<HTMLElement>("[data-line]")?.click();
  } else {
    const verb = KEYS[event.key];
    if (verb === undefined) return;
    here?.querySelector<HTMLElement>(`[data-verb="${verb}"]`)?.click();
  }
  event.preventDefault();
}

interface HeadProps {
  file: DiffFile;
  open: boolean;
  onToggle: () => void;
  state: ChangeShown["state"] | null;
  children: ReactNode;
}

function FileHead({ file, open, onToggle, state, children }: HeadProps) {
  const collisions = useChat(state => state.collisions);
  const collision = useMemo(() => byPath(collisions).get(file.path), [collisions, file.path]);
  return (
    <div data-review data-file={file.path} className="border-line border-y bg-sunken">
      <div className="flex items-center pr-2">
        <h2 className="min-w-0 flex-1">
          <button
            type="button"
            aria-expanded={open}
            onClick={onToggle}
            className="tabular flex min-h-9 w-full items-center gap-2 px-2 text-left text-xs hover:bg-hover"
          >
            <ChevronRight
              aria-hidden
              className={clsx("size-4 shrink-0 text-faint transition-transform", open && "rotate-90")}
            />
            <span className="min-w-0 flex-1 break-all font-mono">
              {file.status === "renamed" && <span className="text-faint">{`${file.oldPath} → `}</span>}
              {file.path}
            </span>
            {file.status !== "changed" && (
              <span
                className={clsx(
                  "shrink-0",
                  file.status === "added"
                    ? "text-good"
                    : file.status === "deleted"
                      ? "text-bad"
                      : "text-soft",
                )}
              >
                {t.statuses[file.status]}
              </span>
            )}
            {file.added > 0 && <span className="shrink-0 text-good">{`+${file.added}`}</span>}
            {file.removed > 0 && <span className="shrink-0 text-bad">{`−${file.removed}`}</span>}
            {state !== null && state !== "applied" && (
              <span className="shrink-0 text-soft">{t.states[state]}</span>
            )}
          </button>
        </h2>
        {children}
      </div>
      {collision && (
        <div className="px-2 pb-2">
          <CollisionMark collision={collision} />
        </div>
      )}
    </div>
  );
}
