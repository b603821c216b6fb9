// What breaks inside stays inside: the rest of the page goes on.

import { Component, type ReactNode } from "react";
import { texts } from "@/texts";
import { Button } from "./Button";

interface Props {
  children: ReactNode;
  /** In one line, for pieces of a list. */
  small?: boolean;
  /** Another value tries again. */
  attempt?: unknown;
}

interface State {
  error: Error | null;
  attempt: unknown;
}

export class Boundary extends Component<Props, State> {
  override state: State = { error: null, attempt: this.props.attempt };

  static getDerivedStateFromError(error: Error): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.attempt === state.attempt ? null : { error: null, attempt: props.attempt };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const again = () => this.setState({ error: null });
    if (this.props.small) {
      return (
        <div
          role="alert"
          className="flex items-center gap-2 rounded-md bg-bad-soft px-3 py-2 text-bad text-sm"
        >
          <span className="min-w-0 flex-1 truncate">{`${texts.problems.broken} ${error.message}`}</span>
          <Button small onClick={again}>
            {texts.problems.tryAgain}
          </Button>
        </div>
      );
    }
    return (
      <div role="alert" className="flex h-full flex-col items-center justify-center gap-3 p-6 text-center">
        <p className="font-semibold">{texts.problems.broken}</p>
        <p className="max-w-prose text-soft text-sm">{texts.problems.brokenHint}</p>
        <p className="max-w-prose break-words font-mono text-faint text-xs">{error.message}</p>
        <div className="flex gap-2">
          <Button weight="main" onClick={again}>
            {texts.problems.tryAgain}
          </Button>
          <Button onClick={() => location.reload()}>{texts.problems.reload}</Button>
        </div>
      </div>
    );
  }
}
