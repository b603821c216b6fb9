// What a tool answered, as text: cut until more is asked for, as a terminal shows it where it is of a command.

import clsx from "clsx";
import { Fragment, type ReactNode, useMemo, useState } from "react";
import { call } from "@/api/client";
import { textOf } from "@/api/problem";
import { texts } from "@/texts";
import { CopyButton } from "@/transcript/markdown/Code";
import { Button } from "@/ui/Button";
import { ScrolledText } from "@/ui/ScrolledText";
import { toast } from "@/ui/view";
import { runsOf } from "./ansi";
import { readable } from "./input";

const AT_FIRST = 4_000;
const MORE = 200_000;

/** A text in a box of its own. `draw`: something better than the text itself. */
export function Box({
  text,
  draw = plain,
  className,
}: {
  text: string;
  draw?: (text: string) => ReactNode;
  className?: string;
}) {
  const [most, setMost] = useState(AT_FIRST);
  const shown = text.length > most ? text.slice(0, most) : text;
  const drawn = useMemo(() => draw(shown), [draw, shown]);
  return (
    <div className={clsx("group/box relative overflow-hidden rounded-md border bg-sunken", className)}>
      <div className="absolute top-0.5 right-0.5 opacity-0 focus-within:opacity-100 group-hover/box:opacity-100">
        <CopyButton text={text} label={texts.common.copy} />
      </div>
      <ScrolledText className="max-h-80 px-3 py-2 font-mono text-xs leading-5">{drawn}</ScrolledText>
      {text.length > most && (
        <div className="border-t px-2 py-1">
          <Button small weight="quiet" onClick={() => setMost(most + MORE)}>
            {texts.transcript.moreText(text.length - most)}
          </Button>
        </div>
      )}
    </div>
  );
}

const plain = (text: string): ReactNode => text;

const COLOURS: Record<string, string> = {
  red: "text-bad",
  green: "text-good",
  yellow: "text-warn",
  blue: "text-accent-text",
  magenta: "text-accent-text",
  cyan: "text-accent-text",
  black: "text-faint",
};

export function terminal(text: string): ReactNode {
  return runsOf(text).map((run, index) => {
    const look = clsx(run.colour && COLOURS[run.colour], run.bold && "font-semibold");
    return (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces of one text never move
      <Fragment key={index}>{look === "" ? run.text : <span className={look}>{run.text}</span>}</Fragment>
    );
  });
}

/** The output of a call; all of it on request where the model was given less. */
export function Output({
  chatId,
  callId,
  output,
  truncated,
  draw,
}: {
  chatId: string;
  callId: string;
  output: unknown;
  truncated: boolean;
  draw?: (text: string) => ReactNode;
}) {
  const [whole, setWhole] = useState<string | null>(null);
  const [loading, setLoading] = useState(false);
  const text = whole ?? readable(output);
  const load = async () => {
    setLoading(true);
    try {
      const path = { chat_id: chatId, call_id: callId };
      setWhole(readable((await call("GET /chats/{chat_id}/calls/{call_id}", { path })).output));
    } catch (error) {
      toast(textOf(error), "bad");
    } finally {
      setLoading(false);
    }
  };
  if (text === "") return <p className="text-faint text-xs">{texts.tools.noOutput}</p>;
  return (
    <div className="flex flex-col items-start gap-1">
      <Box text={text} className="w-full" {...(draw && { draw })} />
      {truncated && whole === null && (
        <Button small busy={loading} onClick={() => void load()}>
          {texts.tools.wholeOutput}
        </Button>
      )}
    </div>
  );
}
