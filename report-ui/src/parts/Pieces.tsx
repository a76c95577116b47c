/** Short facts, piece by piece. */
export function Pieces({ of, class: name }: { of: readonly string[]; class: string }) {
  return (
    <p class={name}>
      {of.map((piece, at) => (
        <span key={at}>
          <bdi>{piece}</bdi>
        </span>
      ))}
    </p>
  );
}
