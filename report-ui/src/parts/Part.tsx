import type { ComponentChildren } from "preact";

interface Props {
  id: string;
  title: string;
  children: ComponentChildren;
}

/** A part of a page: the masthead leads to it. */
export function Part({ id, title, children }: Props) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

/** Parts, one below the other. */
export function Parts({ of }: { of: readonly { id: string; title: string; body: ComponentChildren }[] }) {
  return of.map(({ id, title, body }) => (
    <Part key={id} id={id} title={title}>
      {body}
    </Part>
  ));
}
