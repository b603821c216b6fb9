// Files that were read, written, edited or deleted.

import { languageOf } from "@/code/language";
import { Code } from "@/transcript/markdown/Code";
import { ScrolledText } from "@/ui/ScrolledText";
import { Diff } from "../Diff";
import { fieldsOf, listIn, readable, textIn } from "../input";
import { Box, Output } from "../Output";
import { PathLink } from "../PathLink";
import { isOver } from "../state";
import type { BodyProps } from "./body";

export function ReadFile({ chatId, view }: BodyProps) {
  const path = textIn(view.input, "path");
  const text = typeof view.output === "string" ? view.output : null;
  return (
    <div className="flex flex-col gap-1">
      <Where path={path} />
      {view.state === "succeeded" && text !== null && !view.truncated ? (
        <Code code={text} language={languageOf(path)} complete={text.length < 20_000} />
      ) : (
        <Answer chatId={chatId} view={view} />
      )}
    </div>
  );
}

/** Written, edited, deleted: the difference it made; before that, what is to be done. */
export function ChangeFile({ chatId, view }: BodyProps) {
  if (view.diff) return <Diff diff={view.diff} />;
  return (
    <div className="flex flex-col gap-2">
      <Wanted view={view} />
      <Answer chatId={chatId} view={view} />
    </div>
  );
}

function Wanted({ view }: Pick<BodyProps, "view">) {
  const edits = listIn(view.input, "edits");
  if (edits.length > 0) return edits.map((edit, index) => <Edit key={String(index)} edit={edit} />);
  const content = fieldsOf(view.input).content;
  return (
    <>
      <Where path={textIn(view.input, "path")} />
      {content !== undefined && <Box text={readable(content)} />}
    </>
  );
}

function Edit({ edit }: { edit: unknown }) {
  return (
    <div className="flex flex-col gap-1">
      <Where path={textIn(edit, "path")} />
      <div className="overflow-hidden rounded-md border font-mono text-xs leading-5">
        <ScrolledText className="max-h-60 bg-bad-soft px-3 py-1">{textIn(edit, "old")}</ScrolledText>
        <ScrolledText className="max-h-60 bg-good-soft px-3 py-1">{textIn(edit, "new")}</ScrolledText>
      </div>
    </div>
  );
}

export function Answer({ chatId, view }: BodyProps) {
  if (!isOver(view.state)) return null;
  return <Output chatId={chatId} callId={view.id} output={view.output} truncated={view.truncated} />;
}

export function Where({ path }: { path: string }) {
  return path === "" ? null : <PathLink path={path} className="self-start font-mono text-xs" />;
}
