// What stands inside of a line of markdown. A link shows where it leads before it is followed; a picture is a link.

import { Image as ImageIcon } from "lucide-react";
import { Fragment, memo, type ReactNode, useMemo } from "react";
import { texts } from "@/texts";
import { PathLink } from "@/tools/PathLink";
import { show } from "@/ui/view";
import { useDefinitions } from "./definitions";
import { Formula } from "./Formula";
import { inlineOf } from "./inline";
import { isPlain, targetOf } from "./links";
import { plain } from "./parse";
import { flat, type Node } from "./pieces";

const DEEPEST = 20;

export const Inline = memo(function Inline({ text }: { text: string }) {
  const definitions = useDefinitions();
  const nodes = useMemo(() => inlineOf(text, definitions), [text, definitions]);
  return <Nodes nodes={nodes} depth={0} />;
});

function Nodes({ nodes, depth }: { nodes: readonly Node[]; depth: number }) {
  return nodes.map((node, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: text only grows at its end
    <Fragment key={index}>{drawn(node, depth)}</Fragment>
  ));
}

function drawn(node: Node, depth: number): ReactNode {
  switch (node.type) {
    case "text":
      return plain(node.text);
    case "code":
      return <code>{node.text}</code>;
    case "break":
      return <br />;
    case "maths":
      return <Formula text={node.text} display={node.display} />;
    case "image":
      return (
        <Away href={node.href} text="">
          <ImageIcon aria-hidden className="mr-1 inline size-4 align-text-bottom" />
          {texts.transcript.picture(plain(node.text))}
        </Away>
      );
    case "link":
      return (
        <Away href={node.href} text={flat(node.children)}>
          <Nodes nodes={node.children} depth={depth + 1} />
        </Away>
      );
    default: {
      if (depth > DEEPEST) return flat(node.children);
      const Tag = node.type;
      return (
        <Tag>
          <Nodes nodes={node.children} depth={depth + 1} />
        </Tag>
      );
    }
  }
}

/** A link that leads away from the page. Where its text does not say where, the address is asked about first. */
export function Away({ href, text, children }: { href: string; text: string; children: ReactNode }) {
  const target = targetOf(plain(href));
  if (target.kind === "path") return <PathLink path={target.path}>{children}</PathLink>;
  if (target.kind === "none") return children;
  const { url } = target;
  return (
    <a
      href={url}
      title={url}
      target="_blank"
      rel="noopener noreferrer nofollow"
      onClick={event => {
        if (isPlain(text, url)) return;
        event.preventDefault();
        show({
          kind: "confirm",
          text: texts.transcript.leavesTo(url),
          confirm: texts.transcript.openLink,
          run: () => window.open(url, "_blank", "noopener,noreferrer"),
        });
      }}
    >
      {children}
    </a>
  );
}
