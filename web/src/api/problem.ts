// What goes wrong between page and server, as one kind of error: a stable code, and a text for people.

import type { FieldError, ProblemBody } from "./schema";

export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: readonly FieldError[];
  readonly data: unknown;

  constructor(body: Pick<ProblemBody, "status" | "code" | "detail"> & Partial<ProblemBody>) {
    super(body.detail);
    this.name = "Problem";
    this.status = body.status;
    this.code = body.code;
    this.errors = body.errors ?? [];
    this.data = body.data;
  }

  /** Nobody answered: the server may come back. */
  get unreachable(): boolean {
    return this.code === "unreachable";
  }
}

/** The text to show for anything that was thrown. */
export function textOf(error: unknown): string {
  if (error instanceof Problem && error.errors.length > 0) {
    return error.errors.map(one => sentence(`${one.field}: ${one.message}`)).join(" ");
  }
  return error instanceof Error ? error.message : String(error);
}

/** What is wrong with each field of a form, in sentences. */
export function fieldProblems(error: unknown): ReadonlyMap<string, string> {
  if (!(error instanceof Problem)) return new Map();
  return new Map(error.errors.map(one => [one.field, sentence(one.message)]));
}

/** With a capital letter and an end. */
export function sentence(text: string): string {
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

export async function problemOf(response: Response): Promise<Problem> {
  const fallback = {
    status: response.status,
    code: `status_${response.status}`,
    detail: response.statusText,
  };
  try {
    const body: unknown = await response.json();
    return new Problem(isProblem(body) ? body : fallback);
  } catch {
    return new Problem(fallback);
  }
}

function isProblem(body: unknown): body is ProblemBody {
  return typeof body === "object" && body !== null && "code" in body && "detail" in body && "status" in body;
}
