// Questions of an agent and what was answered so far. Pure; a call that cannot be read is asked as it is.

import { fieldsOf, listIn, readable, textIn, textsIn } from "../input";

export interface Question {
  id: string;
  text: string;
  options: readonly string[];
  multiple: boolean;
}

/** What is chosen among the options, and what was written beside them. */
export interface Given {
  chosen: readonly string[];
  text: string;
}

export const NOTHING: Given = { chosen: [], text: "" };

export function questionsIn(input: unknown): Question[] {
  const found = listIn(input, "questions").map((one, index) => ({
    id: textIn(one, "id") || String(index),
    text: textIn(one, "text") || readable(one),
    options: textsIn(one, "options"),
    multiple: fieldsOf(one).multiple === true,
  }));
  return found.length > 0 ? found : [{ id: "answer", text: readable(input), options: [], multiple: false }];
}

export function chosen(question: Question, given: Given, option: string): Given {
  const has = given.chosen.includes(option);
  if (question.multiple) {
    return { ...given, chosen: has ? given.chosen.filter(one => one !== option) : [...given.chosen, option] };
  }
  return { ...given, chosen: has ? [] : [option] };
}

/** Null: nothing was answered yet. */
export function answerOf(question: Question, given: Given): string | string[] | null {
  const own = given.text.trim();
  const all = own === "" ? given.chosen : [...given.chosen, own];
  if (all.length === 0) return null;
  if (question.multiple) return [...all];
  return own || (all[0] ?? null);
}
