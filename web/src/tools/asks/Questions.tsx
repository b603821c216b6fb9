// The questions of an agent as a form.

import { useId, useState } from "react";
import type { ActionCall } from "@/api/schema";
import { visible } from "@/text/visible";
import { texts } from "@/texts";
import { Button } from "@/ui/Button";
import { Card } from "./Ask";
import { useAnswer } from "./answer";
import { answerOf, chosen, type Given, NOTHING, type Question, questionsIn } from "./questions";

const t = texts.tools.ask;

export function QuestionForm({ ask }: { ask: ActionCall }) {
  const { busy, submit } = useAnswer(ask);
  const [given, setGiven] = useState<Readonly<Record<string, Given>>>({});
  const questions = questionsIn(ask.input);
  const answers = questions.map(question => answerOf(question, given[question.id] ?? NOTHING));
  const complete = answers.every(answer => answer !== null);
  return (
    <Card title={t.question(questions.length)}>
      <form
        className="flex flex-col gap-4"
        onSubmit={event => {
          event.preventDefault();
          const all = Object.fromEntries(questions.map((question, index) => [question.id, answers[index]]));
          if (complete) submit({ answers: all });
        }}
      >
        {questions.map(question => (
          <Field
            key={question.id}
            question={question}
            given={given[question.id] ?? NOTHING}
            onGiven={one => setGiven({ ...given, [question.id]: one })}
          />
        ))}
        <div className="flex flex-wrap gap-2">
          <Button type="submit" weight="main" busy={busy} disabled={!complete}>
            {t.answer}
          </Button>
          <Button disabled={busy} onClick={() => submit({ answers: {}, skipped: true })}>
            {questions.length === 1 ? t.skipQuestion : t.skipQuestions}
          </Button>
        </div>
      </form>
    </Card>
  );
}

interface FieldProps {
  question: Question;
  given: Given;
  onGiven: (given: Given) => void;
}

function Field({ question, given, onGiven }: FieldProps) {
  const id = useId();
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 whitespace-pre-wrap font-medium text-sm">{visible(question.text)}</legend>
      {question.options.map(option => (
        <label key={option} className="flex cursor-pointer items-baseline gap-2 text-sm">
          <input
            type={question.multiple ? "checkbox" : "radio"}
            name={id}
            checked={given.chosen.includes(option)}
            onChange={() =>
              onGiven({ ...chosen(question, given, option), text: question.multiple ? given.text : "" })
            }
            className="relative top-0.5 shrink-0 accent-accent"
          />
          {visible(option)}
        </label>
      ))}
      <input
        type="text"
        aria-label={question.options.length > 0 ? t.other : t.yourAnswer}
        placeholder={question.options.length > 0 ? t.other : t.yourAnswer}
        value={given.text}
        onChange={event => {
          const text = event.target.value;
          onGiven(question.multiple ? { ...given, text } : { chosen: [], text });
        }}
        className="w-full rounded-md border border-line-strong/70 bg-canvas px-2.5 py-1.5 text-sm placeholder:text-faint"
      />
    </fieldset>
  );
}
