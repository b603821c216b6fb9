// The pieces that all sections are made of: a part with a title, rows with a name, details and buttons.

import clsx from "clsx";
import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { fieldProblems, sentence, textOf } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { FieldProblems } from "@/ui/Field";
import { ScrolledText } from "@/ui/ScrolledText";

export function Part({
  title,
  action,
  children,
}: {
  title?: string;
  action?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="flex flex-col gap-2">
      {(title || action) && (
        <div className="flex min-h-8 items-center justify-between gap-2">
          {title ? <h3 className="font-medium text-sm">{title}</h3> : <span />}
          {action}
        </div>
      )}
      {children}
    </section>
  );
}

export function Lead({ children }: { children: ReactNode }) {
  return <p className="max-w-prose text-soft text-sm">{children}</p>;
}

interface Read {
  isPending: boolean;
  error: unknown;
}

/** Rows, or why there are none. */
export function Rows({ read, empty, children }: { read: Read; empty: string; children: ReactNode[] }) {
  if (read.error) {
    return (
      <p role="alert" className="text-bad text-sm">
        {textOf(read.error)}
      </p>
    );
  }
  if (children.length === 0) {
    return <p className="text-faint text-sm">{read.isPending ? texts.common.loading : empty}</p>;
  }
  return <ul className="divide-y divide-line overflow-hidden rounded-lg border">{children}</ul>;
}

/** What one would write in the configuration, where there is nothing yet. */
export function Example({ lead, text }: { lead: string; text: string }) {
  return (
    <div className="flex flex-col gap-1">
      <p className="max-w-prose text-soft text-sm">{lead}</p>
      <ScrolledText className="rounded bg-sunken p-2 font-mono text-xs">{text}</ScrolledText>
    </div>
  );
}

interface RowProps {
  name: ReactNode;
  marks?: ReactNode;
  detail?: ReactNode;
  faded?: boolean;
  children?: ReactNode;
}

export function Row({ name, marks, detail, faded, children }: RowProps) {
  return (
    <li className={clsx("flex flex-wrap items-center gap-x-3 gap-y-2 px-3 py-2", faded && "bg-sunken")}>
      <div className="min-w-40 flex-1">
        <div className="flex flex-wrap items-center gap-2 font-medium text-sm">
          <span className="break-all">{name}</span>
          {marks}
        </div>
        {detail && <div className="break-words text-faint text-xs">{detail}</div>}
      </div>
      <div className="flex gap-1">{children}</div>
    </li>
  );
}

export function Mark({ children, look = "plain" }: { children: ReactNode; look?: "plain" | "good" | "bad" }) {
  return (
    <span
      className={clsx(
        "rounded px-1.5 py-px font-normal text-xs",
        look === "plain" && "bg-sunken text-soft",
        look === "good" && "bg-good-soft text-good",
        look === "bad" && "bg-bad-soft text-bad",
      )}
    >
      {children}
    </span>
  );
}

/** A secret that is shown this once. */
export function Shown({ label, value }: { label: string; value: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    setCopied(true);
  };
  return (
    <div role="status" className="flex flex-col gap-2 rounded-lg border border-good/50 bg-good-soft p-3">
      <p className="font-medium text-good text-sm">{label}</p>
      <div className="flex items-center gap-2">
        <code className="min-w-0 flex-1 select-all break-all font-mono text-xs">{value}</code>
        <Button small icon={copied ? Check : Copy} onClick={() => void copy()}>
          {copied ? texts.common.copied : texts.common.copy}
        </Button>
      </div>
    </div>
  );
}

interface FormProps {
  /** Why it could not be saved. */
  error?: unknown;
  onSubmit: () => void;
  onCancel: () => void;
  busy: boolean;
  /** What the button says. */
  save?: string;
  children: ReactNode;
}

export function Form({ onSubmit, onCancel, busy, error, save, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const problems = useMemo(() => fieldProblems(error), [error]);
  const [others, setOthers] = useState<readonly string[]>([]);
  // At its field where there is one, else below all of them.
  useEffect(() => {
    if (!error) return setOthers([]);
    const has = (field: string) => form.current?.elements.namedItem(field) != null;
    setOthers(
      problems.size === 0
        ? [sentence(textOf(error))]
        : [...problems].flatMap(([field, text]) => (has(field) ? [] : [`${field}: ${text}`])),
    );
    const first = [...problems.keys()].find(has);
    const control = first === undefined ? null : form.current?.elements.namedItem(first);
    if (control instanceof HTMLElement) control.focus();
  }, [error, problems]);
  return (
    <form
      ref={form}
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <FieldProblems value={problems}>{children}</FieldProblems>
      {others.map(text => (
        <p key={text} role="alert" className="text-bad text-sm">
          {text}
        </p>
      ))}
      <div className="flex justify-end gap-2">
        <Button onClick={onCancel}>{texts.common.cancel}</Button>
        <Button weight="main" type="submit" busy={busy}>
          {save ?? texts.common.save}
        </Button>
      </div>
    </form>
  );
}
