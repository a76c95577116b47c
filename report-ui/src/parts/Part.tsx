import type { ComponentChildren } from "preact";

interface Props {
  id: string;
  title: string;
  children: ComponentChildren;
}

/** A part of a page, to which the masthead links. */
export function Part({ id, title, children }: Props) {
  return (
    <section id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

/** Parts, one below the other. */
export function Parts({ parts }: { parts: readonly { id: string; title: string; body: ComponentChildren }[] }) {
  return parts.map(({ id, title, body }) => (
    <Part key={id} id={id} title={title}>
      {body}
    </Part>
  ));
}
