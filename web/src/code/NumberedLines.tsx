// Code with the numbers of its lines, in colours once the highlighter is there. Only what is in sight is drawn, so
// that a long file opens as quickly as a short one.

import { useVirtualizer } from "@tanstack/react-virtual";
import clsx from "clsx";
import { useEffect, useMemo, useRef } from "react";
import { Marked } from "@/text/Marked";
import { Pieces } from "./Pieces";
import { linesOf } from "./pieces";
import { useHighlighter } from "./useHighlighter";

const LINE_PX = 20;

interface Props {
  text: string;
  language: string;
  label: string;
  /** A line that stands out, and is scrolled to. */
  line?: number | null;
  look?: "bad" | "chosen";
  /** It is what one came for: keys scroll it at once. */
  takesFocus?: boolean;
  className?: string;
}

export function NumberedLines(props: Props) {
  const { text, language, label, line = null, look = "chosen", takesFocus = false, className } = props;
  const plain = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const highlight = useHighlighter();
  const coloured = useMemo(() => {
    const pieces = highlight?.(text, language) ?? null;
    return pieces === null ? null : linesOf(pieces);
  }, [highlight, text, language]);
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: plain.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => LINE_PX,
    overscan: 40,
  });
  const at = line === null ? -1 : line - 1;
  useEffect(() => {
    if (at >= 0 && at < plain.length) virtual.scrollToIndex(at, { align: "center" });
  }, [virtual, at, plain.length]);
  useEffect(() => {
    if (takesFocus) scroller.current?.focus();
  }, [takesFocus]);
  const digits = String(plain.length).length;
  return (
    <section
      ref={scroller}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={clsx("overflow-auto bg-sunken py-2 font-mono text-xs leading-5", className)}
    >
      <div className="relative w-max min-w-full" style={{ height: virtual.getTotalSize() }}>
        {/* As wide as the longest line, so that all of them can be scrolled sideways together. */}
        <div aria-hidden className="invisible h-0 whitespace-pre pr-6 pl-16">
          {longest(plain)}
        </div>
        {virtual.getVirtualItems().map(item => (
          <div
            key={item.key}
            data-line={item.index + 1}
            aria-current={item.index === at ? "location" : undefined}
            className={clsx(
              "absolute inset-x-0 top-0 flex h-5",
              item.index === at && (look === "bad" ? "bg-bad-soft" : "bg-accent-soft"),
            )}
            style={{ transform: `translateY(${item.start}px)` }}
          >
            <span
              aria-hidden
              className="tabular shrink-0 select-none pr-3 pl-3 text-right text-faint"
              style={{ width: `calc(${digits}ch + 1.5rem)` }}
            >
              {item.index + 1}
            </span>
            <code className="whitespace-pre pr-6">
              {coloured?.[item.index] ? (
                <Pieces pieces={coloured[item.index] ?? []} />
              ) : (
                <Marked text={plain[item.index] ?? ""} />
              )}
            </code>
          </div>
        ))}
      </div>
    </section>
  );
}

const longest = (lines: readonly string[]): string =>
  lines.reduce((most, line) => (line.length > most.length ? line : most), "");
