// Fields of forms: a label, a control, what it is for, and what is wrong with it.

import clsx from "clsx";
import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useContext,
  useId,
} from "react";

const CONTROL =
  "w-full rounded-md border border-line-strong/70 bg-canvas px-2.5 py-1.5 text-sm placeholder:text-faint disabled:opacity-60";

/** What the server found wrong, by the name of the field. */
export const FieldProblems = createContext<ReadonlyMap<string, string>>(new Map());

const useProblem = (given: string | undefined, name: string | undefined): string | undefined => {
  const problems = useContext(FieldProblems);
  return given ?? (name === undefined ? undefined : problems.get(name));
};

interface Common {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

function Around({ id, label, hint, error, children }: Common & { id: string; children: ReactNode }) {
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="font-medium text-sm">
        {label}
      </label>
      {children}
      {hint && (
        <p id={`${id}-hint`} className="text-faint text-xs">
          {hint}
        </p>
      )}
      {error && (
        <p id={`${id}-error`} role="alert" className="text-bad text-xs">
          {error}
        </p>
      )}
    </div>
  );
}

const described = (id: string, { hint, error }: Omit<Common, "label">) =>
  [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ") || undefined;

type TextProps = Common & { onValue: (value: string) => void } & Omit<
    InputHTMLAttributes<HTMLInputElement>,
    "onChange"
  >;

export function TextField({ label, hint, error: given, onValue, className, ...rest }: TextProps) {
  const id = useId();
  const error = useProblem(given, rest.name);
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <input
        id={id}
        type="text"
        autoComplete="off"
        spellCheck={false}
        aria-describedby={described(id, { hint, error })}
        aria-invalid={error !== undefined}
        {...rest}
        onChange={event => onValue(event.target.value)}
        className={clsx(CONTROL, className)}
      />
    </Around>
  );
}

type AreaProps = Common & { onValue: (value: string) => void } & Omit<
    TextareaHTMLAttributes<HTMLTextAreaElement>,
    "onChange"
  >;

export function AreaField({ label, hint, error: given, onValue, className, ...rest }: AreaProps) {
  const id = useId();
  const error = useProblem(given, rest.name);
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <textarea
        id={id}
        rows={5}
        aria-describedby={described(id, { hint, error })}
        {...rest}
        onChange={event => onValue(event.target.value)}
        className={clsx(CONTROL, "resize-y", className)}
      />
    </Around>
  );
}

interface Choice {
  value: string;
  title: string;
}

interface ChoiceProps extends Common {
  value: string;
  choices: readonly Choice[];
  onValue: (value: string) => void;
  disabled?: boolean;
  name?: string;
}

export function ChoiceField(props: ChoiceProps) {
  const { label, hint, value, choices, onValue, disabled, name } = props;
  const id = useId();
  const error = useProblem(props.error, name);
  return (
    <Around id={id} label={label} hint={hint} error={error}>
      <select
        id={id}
        name={name}
        value={value}
        disabled={disabled}
        aria-describedby={described(id, { hint, error })}
        onChange={event => onValue(event.target.value)}
        className={CONTROL}
      >
        {choices.map(choice => (
          <option key={choice.value} value={choice.value}>
            {choice.title}
          </option>
        ))}
      </select>
    </Around>
  );
}

interface SwitchProps {
  label: string;
  hint?: ReactNode;
  checked: boolean;
  disabled?: boolean;
  onValue: (checked: boolean) => void;
}

export function SwitchField({ label, hint, checked, disabled, onValue }: SwitchProps) {
  const id = useId();
  return (
    <div className="flex items-start gap-3">
      <button
        id={id}
        type="button"
        role="switch"
        aria-checked={checked}
        aria-labelledby={`${id}-label`}
        aria-describedby={hint ? `${id}-hint` : undefined}
        disabled={disabled}
        onClick={() => onValue(!checked)}
        className={clsx(
          "mt-0.5 h-5 w-9 shrink-0 rounded-full border p-0.5 transition-colors disabled:opacity-50",
          checked ? "border-accent bg-accent" : "border-line-strong bg-sunken",
        )}
      >
        <span
          className={clsx(
            "block size-3.5 rounded-full transition-transform",
            checked ? "translate-x-4 bg-on-accent" : "bg-line-strong",
          )}
        />
      </button>
      <div>
        <label id={`${id}-label`} htmlFor={id} className="font-medium text-sm">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-faint text-xs">
            {hint}
          </p>
        )}
      </div>
    </div>
  );
}
