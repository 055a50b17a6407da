/** What the company knows, with one price that is out of date and one promise that goes too far. */
export const ARTICLES: readonly { readonly words: readonly string[]; readonly text: string }[] = [
  {
    words: ["aroma", "300", "price", "cost"],
    text: "The Aroma 300 costs 2390 EUR, for offices of up to thirty people.",
  },
  {
    words: ["700", "large"],
    text: "The Aroma 700 costs 4890 EUR, for offices of up to a hundred people.",
  },
  {
    words: ["deliver", "delivery", "fast", "when"],
    text: "We guarantee delivery within five working days.",
  },
  {
    words: ["discount", "volume", "rebate"],
    text: "From ten machines on you get a volume discount of 12 %.",
  },
  {
    words: ["lease", "leasing", "rent", "monthly"],
    text: "Every machine can be leased over 24 or 36 months, service included.",
  },
];

/** List prices in EUR. */
export const PRICES: Readonly<Record<string, number>> = { "Aroma 300": 2490, "Aroma 700": 4890 };

/** What must not be promised, and what to write instead. */
export const PROMISES: Readonly<Record<string, string>> = {
  "We guarantee delivery within": "Delivery usually takes",
};
