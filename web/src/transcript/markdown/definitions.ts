// Where the references of a text lead, for the pieces of it that are drawn by themselves.

import { createContext, useContext } from "react";

const NONE: ReadonlyMap<string, string> = new Map();

export const Definitions = createContext<ReadonlyMap<string, string>>(NONE);

export const useDefinitions = (): ReadonlyMap<string, string> => useContext(Definitions);
