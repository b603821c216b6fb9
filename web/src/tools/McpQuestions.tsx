// What MCP servers ask the person in the middle of a call. The call waits for the answer.

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { mcpQuestionsQuery } from "@/api/queries";
import type { ServerQuestion } from "@/api/schema";
import { useChat } from "@/feed/hooks";
import type { ChatState } from "@/feed/state";
import { useChange } from "@/settings/useChange";
import { markedText } from "@/text/marks";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { AskedInput } from "./AskedInput";
import { contentOf, fieldsOf } from "./mcpFields";

const t = texts.tools.mcp;

export function McpQuestions({ chatId }: { chatId: string }) {
  const running = useChat(isCalling);
  const questions = useQuery({ ...mcpQuestionsQuery(chatId), enabled: running, refetchInterval: 2000 });
  if (!running) return null;
  return (
    <>
      {(questions.data ?? []).map(one => (
        <QuestionCard key={one.id} chatId={chatId} question={one} />
      ))}
    </>
  );
}

/** Whether a call of an MCP tool is under way: only then anything is asked. */
function isCalling({ chat, messages, results }: ChatState): boolean {
  return (
    chat?.status === "running" &&
    (messages.at(-1)?.parts ?? []).some(
      part => part.type === "tool_call" && part.name.startsWith("mcp__") && !results.has(part.call_id),
    )
  );
}

function QuestionCard({ chatId, question }: { chatId: string; question: ServerQuestion }) {
  const fields = fieldsOf(question.schema);
  const [given, setGiven] = useState<Readonly<Record<string, string | boolean>>>({});
  const answer = useChange(
    (action: "accept" | "decline") =>
      call("POST /chats/{chat_id}/mcp-questions/{question_id}", {
        path: { chat_id: chatId, question_id: question.id },
        body: { action, content: action === "accept" ? contentOf(fields, given) : null },
      }),
    { stale: [mcpQuestionsQuery(chatId).queryKey] },
  );
  const set = (name: string, value: string | boolean) => setGiven({ ...given, [name]: value });
  return (
    <form
      aria-label={t.asks(question.server)}
      className="mx-auto mb-2 flex w-full max-w-3xl flex-col gap-3 rounded-lg border bg-raised p-3"
      onSubmit={event => {
        event.preventDefault();
        answer.mutate("accept");
      }}
    >
      <p className="font-medium text-sm">{t.asks(markedText(question.server))}</p>
      <p className="whitespace-pre-wrap break-words text-sm">{markedText(question.message)}</p>
      {question.url && <code className="break-all font-mono text-xs">{markedText(question.url)}</code>}
      {fields.map(field => (
        <AskedInput
          key={field.name}
          field={field}
          value={given[field.name]}
          onValue={value => set(field.name, value)}
        />
      ))}
      <div className="flex justify-end gap-2">
        <Button disabled={answer.isPending} onClick={() => answer.mutate("decline")}>
          {t.decline}
        </Button>
        <Button weight="main" type="submit" busy={answer.isPending}>
          {t.send}
        </Button>
      </div>
    </form>
  );
}
