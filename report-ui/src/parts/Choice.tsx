interface Props<Value> {
  label: string;
  options: readonly (readonly [value: Value, title: string])[];
  value: Value;
  onChoose: (value: Value) => void;
}

/** A choice, with one button per option. */
export function Choice<Value>({ label, options, value, onChoose }: Props<Value>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map(([option, title]) => (
        <button type="button" key={title} aria-pressed={value === option} onClick={() => onChoose(option)}>
          {title}
        </button>
      ))}
    </div>
  );
}
