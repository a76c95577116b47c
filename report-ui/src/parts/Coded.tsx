/** A sentence with the text between backquotes as code. */
export function Coded({ text }: { text: string }) {
  return (
    <>
      {text.split(/`([^`]+)`/).map((piece, at) => (at % 2 ? <code key={at}>{piece}</code> : piece))}
    </>
  );
}
