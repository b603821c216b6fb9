// The graph of a flow with the state of every step. Loaded when it is first shown: what draws it is large.

import { Background, Controls, Handle, type Node, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import "./graph.css";
import clsx from "clsx";
import { useMemo } from "react";
import type { FlowGraph, FlowStepShown, GraphStep } from "@/api/schema";
import { texts } from "@/texts";
import { edgesOf, isExcluded, NODE_HEIGHT, NODE_WIDTH } from "./layout";
import { State } from "./State";
import { useLayout } from "./useLayout";

interface Props {
  graph: FlowGraph;
  steps: Readonly<Record<string, FlowStepShown>>;
  chosen: string | null;
  onChoose: (id: string) => void;
}

type StepNode = Node<{ step: GraphStep; shown: FlowStepShown | undefined; chosen: boolean }, "step">;

const t = texts.panels.flows;
const KINDS = { step: StepBox };

export default function Graph({ graph, steps, chosen, onChoose }: Props) {
  const places = useLayout(graph);
  const nodes = useMemo(() => {
    const at = new Map(places.map(place => [place.id, place]));
    return graph.steps.map(
      (step): StepNode => ({
        id: step.id,
        type: "step",
        position: { x: at.get(step.id)?.x ?? 0, y: at.get(step.id)?.y ?? 0 },
        width: NODE_WIDTH,
        height: NODE_HEIGHT,
        data: { step, shown: steps[step.id], chosen: step.id === chosen },
        ariaLabel: `${step.title ?? step.id}: ${t.states[steps[step.id]?.state ?? "pending"]}`,
      }),
    );
  }, [graph, places, steps, chosen]);
  const edges = useMemo(
    () =>
      edgesOf(graph).map(edge => ({
        id: edge.id,
        source: edge.source,
        target: edge.target,
        label: edge.label ?? undefined,
        animated: steps[edge.target]?.state === "running",
        className: isExcluded(edge, steps) ? "opacity-30" : "",
      })),
    [graph, steps],
  );
  return (
    <div className="h-96 resize-y overflow-hidden rounded-md border border-line" data-testid="flow-graph">
      <ReactFlow
        key={places.length + (places[0]?.x ?? 0)}
        nodes={nodes}
        edges={edges}
        nodeTypes={KINDS}
        onNodeClick={(_, node) => onChoose(node.id)}
        nodesDraggable={false}
        nodesConnectable={false}
        onlyRenderVisibleElements={graph.steps.length > 150}
        minZoom={0.05}
        fitView
        proOptions={{ hideAttribution: true }}
      >
        <Background />
        <Controls showInteractive={false} position="top-right" orientation="horizontal" />
      </ReactFlow>
    </div>
  );
}

function StepBox({ data }: NodeProps<StepNode>) {
  const { step, shown, chosen } = data;
  return (
    <div
      className={clsx(
        "flex h-full items-center gap-2 rounded-md border px-2 text-sm",
        chosen ? "border-accent" : "border-line",
        shown?.needs_you ? "bg-warn-soft" : "bg-raised",
        shown?.reason === "excluded" && "opacity-40",
      )}
    >
      <Handle type="target" position={Position.Top} className="invisible" />
      <State state={shown?.state ?? "pending"} />
      <span className="flex min-w-0 flex-1 flex-col">
        <span className="truncate">{step.title ?? step.id}</span>
        <span className="truncate text-faint text-xs">
          {step.batch === null ? t.kinds[step.kind] : `${t.kinds[step.kind]} · ${step.batch}`}
        </span>
      </span>
      <Handle type="source" position={Position.Bottom} className="invisible" />
    </div>
  );
}
