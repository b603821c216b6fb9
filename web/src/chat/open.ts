// The chat that is shown, for what stands outside of it: actions, the palette, the title of the window.

import { create } from "zustand";
import type { Chat } from "@/api/schema";

export const useOpenChat = create<{ chat: Chat | null }>(() => ({ chat: null }));
