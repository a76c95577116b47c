/** Short facts, piece by piece. */
export function Pieces({ pieces, class: name }: { pieces: readonly string[]; class: string }) {
  return (
    <p class={name}>
      {pieces.map((piece, i) => (
        <span key={i}>
          <bdi>{piece}</bdi>
        </span>
      ))}
    </p>
  );
}
