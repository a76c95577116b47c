interface Props<Value> {
  label: string;
  of: readonly (readonly [value: Value, title: string])[];
  chosen: Value;
  choose: (value: Value) => void;
}

/** One of several, a button each. */
export function Choice<Value>({ label, of, chosen, choose }: Props<Value>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {of.map(([value, title]) => (
        <button type="button" key={title} aria-pressed={chosen === value} onClick={() => choose(value)}>
          {title}
        </button>
      ))}
    </div>
  );
}
