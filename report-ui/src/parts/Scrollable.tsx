import type { ComponentChildren } from "preact";

/** An element that may be wider than the page: it can have the focus, so that keys scroll it. */
export function Scrollable({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={label}>
      {children}
    </div>
  );
}
