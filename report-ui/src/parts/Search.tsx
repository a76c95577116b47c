import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";

interface Props {
  query: Signal<string>;
  hint?: string;
  input?: RefObject<HTMLInputElement | null>;
}

/** The input for a search of sections. */
export function Search({ query, hint = "Search", input }: Props) {
  return (
    <input
      ref={input ?? null}
      type="search"
      placeholder={hint}
      aria-label="Search sections"
      value={query.value}
      onInput={(event) => (query.value = event.currentTarget.value)}
    />
  );
}
