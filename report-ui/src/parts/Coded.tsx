/** A sentence with the text between backquotes as code. */
export function Coded({ text }: { text: string }) {
  return (
    <>
      {text.split(/`([^`]+)`/).map((piece, i) => (i % 2 ? <code key={i}>{piece}</code> : piece))}
    </>
  );
}
