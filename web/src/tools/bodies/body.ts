// What the inside of a call is drawn from.

import type { CallView } from "../state";

export interface BodyProps {
  chatId: string;
  view: CallView;
}
