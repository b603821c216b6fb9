// Whether a call may run. Shows exactly what will: what is folded must be seen before it can be allowed.

import { useId, useState } from "react";
import type { ActionCall } from "@/api/schema";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Keys } from "@/ui/Keys";
import { textIn } from "../input";
import { outsideName } from "../titles";
import { Card } from "./Ask";
import { useAnswer } from "./answer";
import { Exactly, hiddenLines } from "./Exactly";

const t = texts.tools.ask;

type Scope = "once" | "chat" | "always";

interface Choice {
  scope: Scope;
  title: string;
  /** The key that chooses it. */
  press?: "y" | "a";
}

/** Pure: what can be answered, by kind of request. A path that is allowed once is open until the turn ends. */
export function choicesFor(name: string): readonly Choice[] {
  if (name === "request_access") {
    return [
      { scope: "once", title: t.allowTurn, press: "y" },
      { scope: "chat", title: t.allowChat, press: "a" },
      { scope: "always", title: t.alwaysPath },
    ];
  }
  return [
    { scope: "once", title: t.allowOnce, press: "y" },
    { scope: "chat", title: t.allowChat, press: "a" },
    { scope: "always", title: t.always },
  ];
}

/** The tool of an MCP server with its server. */
function called(name: string): string {
  const outside = outsideName(name);
  return outside ? t.ofServer(outside.tool, outside.server) : name;
}

export function Approval({ ask }: { ask: ActionCall }) {
  const { busy, decide } = useAnswer(ask);
  const [why, setWhy] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const unseen = !open && hiddenLines(ask.name, ask.input) > 0;
  const access = ask.name === "request_access";
  return (
    <Card
      title={
        access ? t.access(markedText(textIn(ask.input, "path"))) : t.approval(markedText(called(ask.name)))
      }
    >
      <Exactly name={ask.name} input={ask.input} open={open} onOpen={() => setOpen(true)} />
      {why === null ? (
        <div className="flex flex-wrap gap-2">
          {choicesFor(ask.name).map(({ scope, title, press }) => (
            <Button
              key={scope}
              weight={press === "y" ? "main" : "plain"}
              busy={press === "y" && busy}
              disabled={busy || unseen}
              data-ask-key={press}
              {...(press && { "aria-keyshortcuts": press })}
              onClick={() => decide({ decision: "approve", scope })}
            >
              {title}
              {press && <Keys keys={press} onDark={press === "y"} />}
            </Button>
          ))}
          <Button
            disabled={busy}
            weight="danger"
            data-ask-key="n"
            aria-keyshortcuts="n"
            onClick={() => setWhy("")}
          >
            {t.no}
            <Keys keys="n" />
          </Button>
        </div>
      ) : (
        <Denial
          why={why}
          onWhy={setWhy}
          busy={busy}
          onDeny={() => decide({ decision: "deny", note: why.trim() || null })}
        />
      )}
    </Card>
  );
}

interface DenialProps {
  why: string;
  onWhy: (why: string | null) => void;
  busy: boolean;
  onDeny: () => void;
}

function Denial({ why, onWhy, busy, onDeny }: DenialProps) {
  const id = useId();
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={event => {
        event.preventDefault();
        onDeny();
      }}
    >
      <label htmlFor={id} className="text-sm">
        {t.because}
      </label>
      <textarea
        id={id}
        // biome-ignore lint/a11y/noAutofocus: the person just asked to write here
        autoFocus
        rows={2}
        value={why}
        onChange={event => onWhy(event.target.value)}
        onKeyDown={event => {
          if (event.key === "Escape") {
            event.preventDefault();
            onWhy(null);
          }
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            event.currentTarget.form?.requestSubmit();
          }
        }}
        className="w-full resize-y rounded-md border border-line-strong/70 bg-canvas px-2.5 py-1.5 text-sm"
      />
      <div className="flex gap-2">
        <Button type="submit" weight="danger" busy={busy}>
          {t.deny}
        </Button>
        <Button onClick={() => onWhy(null)}>{texts.common.cancel}</Button>
      </div>
    </form>
  );
}
