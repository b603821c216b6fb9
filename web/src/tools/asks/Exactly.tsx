// What a call is about to do, in full: nothing is hidden without saying how much.

import clsx from "clsx";
import { Marked } from "@/text/Marked";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { type DiffLine, fold, type Section, sectionsOf } from "./sections";

const t = texts.tools.ask;

interface Props {
  name: string;
  input: unknown;
  open: boolean;
  onOpen: () => void;
}

/** How many lines are not seen at first. */
export const hiddenLines = (name: string, input: unknown): number =>
  sectionsOf(name, input).reduce((sum, section) => sum + fold(section).hidden, 0);

export function Exactly({ name, input, open, onOpen }: Props) {
  const sections = sectionsOf(name, input);
  const hidden = hiddenLines(name, input);
  return (
    <>
      <dl className="flex flex-col gap-1.5">
        {sections.map((section, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same label may be there twice
          <Shown key={index} section={open ? section : fold(section).section} />
        ))}
      </dl>
      {hidden > 0 && !open && (
        <div className="flex flex-wrap items-center gap-2">
          <Button small data-ask-open onClick={onOpen}>
            {t.showAll(hidden)}
          </Button>
          <span className="text-soft text-xs">{t.unseen}</span>
        </div>
      )}
    </>
  );
}

function Shown({ section }: { section: Section }) {
  const label = section.label in t.fields ? t.fields[section.label as keyof typeof t.fields] : section.label;
  if (section.kind === "value") {
    return (
      <div className="flex items-baseline gap-2">
        <dt className="shrink-0 text-faint text-xs">
          <Marked text={label} />
        </dt>
        <dd className="min-w-0 break-words font-mono text-xs">
          <Marked text={section.text} />
        </dd>
      </div>
    );
  }
  return (
    <div>
      <dt className={clsx("break-words text-xs", section.kind === "diff" ? "font-mono" : "text-faint")}>
        <Marked text={label} />
      </dt>
      <dd className="mt-0.5 overflow-hidden rounded-md border bg-sunken font-mono text-xs leading-5">
        {section.kind === "diff" ? (
          section.lines.map((line, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
            <Line key={index} line={line} />
          ))
        ) : (
          <pre className="whitespace-pre-wrap break-words px-3 py-1.5 [overflow-wrap:anywhere]">
            <Marked text={section.text} />
          </pre>
        )}
      </dd>
    </div>
  );
}

const LOOK = { added: "bg-good-soft", removed: "bg-bad-soft", same: "" };
const SIGN = { added: "+", removed: "-", same: " " };

function Line({ line }: { line: DiffLine }) {
  return (
    <div data-diff={line.kind} className={clsx("flex px-2", LOOK[line.kind])}>
      <span className="w-4 shrink-0 whitespace-pre text-faint">{SIGN[line.kind]}</span>
      <span className="min-w-0 whitespace-pre-wrap break-words [overflow-wrap:anywhere]">
        <Marked text={line.text} />
      </span>
    </div>
  );
}
