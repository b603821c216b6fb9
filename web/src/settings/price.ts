// What a model costs, in words.

import type { ModelPrice } from "@/api/schema";
import { texts } from "@/texts";

const dollars = (micros: number): string => `$${(micros / 1_000_000).toFixed(2).replace(/\.00$/, "")}`;

export const priceText = (price: ModelPrice): string =>
  texts.settings.models.price(dollars(price.input_usd_micros), dollars(price.output_usd_micros));
