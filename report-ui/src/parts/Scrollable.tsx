import type { ComponentChildren } from "preact";

/** What may be wider than the page: it takes the focus, so that the keyboard scrolls it. */
export function Scrollable({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
