// Something is changed on the server, then what was read of it is read again; what goes wrong is told.

import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { textOf } from "@/api/problem";
import { toast } from "@/ui/view";

interface Options<T> {
  /** What was read and may be different now. */
  stale: readonly QueryKey[];
  onDone?: (answer: T) => void;
  /** A form shows what goes wrong itself. */
  inForm?: boolean;
}

export function useChange<G, T>(
  change: (given: G) => Promise<T>,
  { stale, onDone, inForm = false }: Options<T>,
) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async answer => {
      await Promise.all(stale.map(queryKey => queries.invalidateQueries({ queryKey })));
      onDone?.(answer);
    },
    onError: error => {
      if (!inForm) toast(textOf(error), "bad");
    },
  });
}
