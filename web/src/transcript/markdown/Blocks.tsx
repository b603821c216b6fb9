// The blocks of a markdown text. What is nested more deeply than anybody reads is shown as it was written.

import clsx from "clsx";
import { Square, SquareCheck } from "lucide-react";
import { createElement, Fragment, type ReactNode } from "react";
import { texts } from "@/texts";
import { Code } from "./Code";
import { Formula } from "./Formula";
import { Inline } from "./Inline";
import type { Maths, Token, Tokens } from "./parse";

const DEEPEST = 10;

interface Props {
  tokens: readonly Token[];
  complete: boolean;
  depth?: number;
}

export function Blocks({ tokens, complete, depth = 0 }: Props) {
  return tokens.map((token, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end
    <Fragment key={index}>{block(token, complete, depth)}</Fragment>
  ));
}

function block(token: Token, complete: boolean, depth: number): ReactNode {
  if (depth > DEEPEST) return <p className="whitespace-pre-wrap">{token.raw}</p>;
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return null;
    case "hr":
      return <hr />;
    case "code": {
      const { text, lang, raw, codeBlockStyle } = token as Tokens.Code;
      const closed = complete || codeBlockStyle === "indented" || /\n {0,3}(?:`{3,}|~{3,})\s*$/.test(raw);
      return <Code code={text} language={lang?.split(/\s/)[0] ?? ""} complete={closed} />;
    }
    case "maths":
      return <Formula text={(token as Maths).text} display />;
    case "heading": {
      const { depth: level, text } = token as Tokens.Heading;
      // The chat's own title is the first level.
      return createElement(`h${Math.min(6, level + 1)}`, { "data-level": level }, <Inline text={text} />);
    }
    case "blockquote":
      return (
        <blockquote>
          <Blocks tokens={(token as Tokens.Blockquote).tokens} complete={complete} depth={depth + 1} />
        </blockquote>
      );
    case "list":
      return <List list={token as Tokens.List} complete={complete} depth={depth} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "paragraph":
      return (
        <p>
          <Inline text={(token as Tokens.Paragraph).text} />
        </p>
      );
    case "text":
      return <Inline text={(token as Tokens.Text).text} />;
    default:
      // HTML, and whatever else there may be: as it was written.
      return <p className="whitespace-pre-wrap">{token.raw}</p>;
  }
}

function List({ list, complete, depth }: { list: Tokens.List; complete: boolean; depth: number }) {
  const items = list.items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end
    <li key={index} className={clsx(item.task && "list-none")}>
      {item.task && <Mark checked={item.checked ?? false} />}
      <Blocks tokens={item.tokens} complete={complete} depth={depth + 1} />
    </li>
  ));
  if (!list.ordered) return <ul>{items}</ul>;
  return <ol start={typeof list.start === "number" ? list.start : 1}>{items}</ol>;
}

function Mark({ checked }: { checked: boolean }) {
  const Icon = checked ? SquareCheck : Square;
  const label = checked ? texts.transcript.taskDone : texts.transcript.taskOpen;
  return <Icon role="img" aria-label={label} className="-ml-5 mr-1 inline size-4 align-text-bottom" />;
}

const ALIGN = { left: "text-left", center: "text-center", right: "text-right" };

function Table({ table }: { table: Tokens.Table }) {
  const cell = (one: Tokens.TableCell, index: number, Tag: "th" | "td") => (
    <Tag key={index} className={ALIGN[one.align ?? "left"]}>
      <Inline text={one.text} />
    </Tag>
  );
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div tabIndex={0} className="my-3 max-w-full overflow-x-auto">
      <table>
        <thead>
          <tr>{table.header.map((one, index) => cell(one, index, "th"))}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
            <tr key={index}>{row.map((one, at) => cell(one, at, "td"))}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
