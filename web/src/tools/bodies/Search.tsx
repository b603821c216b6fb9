// Lists of paths: of a directory, of names that match, of lines that match. Each path is a link.

import { Fragment, type ReactNode } from "react";
import { textIn } from "../input";
import { Output } from "../Output";
import { PathLink } from "../PathLink";
import { isOver } from "../state";
import type { BodyProps } from "./body";
import { Input } from "./Generic";

const MOST_LINKS = 300;

export function Search({ chatId, view }: BodyProps) {
  const inside = view.name === "list" ? textIn(view.input, "path").replace(/\/$/, "") : "";
  const prefix = inside === "" || inside === "." ? "" : `${inside}/`;
  const draw = view.state === "succeeded" ? (view.name === "grep" ? matches : paths(prefix)) : undefined;
  return (
    <div className="flex flex-col gap-2">
      <Input input={view.input} />
      {isOver(view.state) && (
        <Output
          chatId={chatId}
          callId={view.id}
          output={view.output}
          truncated={view.truncated}
          {...(draw && { draw })}
        />
      )}
    </div>
  );
}

/** One path a line; a last line in brackets is a remark. */
const paths =
  (prefix: string) =>
  (text: string): ReactNode =>
    lines(text, line => {
      if (line === "" || line.startsWith("[")) return line;
      const path = prefix + (line.split(" -> ")[0] ?? line);
      return <PathLink path={path}>{line}</PathLink>;
    });

const MATCH = /^(.+?)([:-])(\d+)\2(.*)$/;

function matches(text: string): ReactNode {
  return lines(text, line => {
    const [, path, , number, rest] = MATCH.exec(line.slice(0, 2000)) ?? [];
    if (path === undefined) return line;
    return (
      <>
        <PathLink path={`${path}:${number}`} />
        <span className="text-faint">: </span>
        {rest}
      </>
    );
  });
}

function lines(text: string, draw: (line: string) => ReactNode): ReactNode {
  return text.split("\n").map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
    <Fragment key={index}>
      {index > 0 && "\n"}
      {index < MOST_LINKS ? draw(line) : line}
    </Fragment>
  ));
}
