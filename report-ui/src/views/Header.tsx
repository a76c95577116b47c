import type { State } from "../state";
import { choose, chosen, type Chosen } from "../theme";

const NEXT: Record<Chosen, Chosen> = { auto: "light", light: "dark", dark: "auto" };

/** What was run and where, what is missing from it, and the way to the rest of the page. */
export function Header({ state, sections }: { state: State; sections: { id: string; title: string }[] }) {
  const { view } = state;
  return (
    <header>
      <div class="masthead">
        <h1>
          <bdi>{view.title}</bdi>
        </h1>
        <nav aria-label="Parts of the report">
          {sections.map(({ id, title }) => (
            <a key={id} href={`#${id}`}>
              {title}
            </a>
          ))}
          <button type="button" class="plain" onClick={() => save(state)} title="Save the profile as JSON">
            JSON
          </button>
          <button
            type="button"
            class="plain"
            onClick={() => choose(NEXT[chosen.value])}
            title="Light, dark, or as the system has it"
          >
            theme: {chosen.value}
          </button>
        </nav>
      </div>
      <p class="headline">
        {view.headline.map((piece, at) => (
          <span key={at}>
            <bdi>{piece}</bdi>
          </span>
        ))}
      </p>
      {view.losses.length > 0 && (
        <p class="losses" role="status">
          {view.losses.join(", ")}
        </p>
      )}
    </header>
  );
}

/** Hands out the profile that is in the page: what `report --format json` would have written. */
function save(state: State): void {
  const { json } = state;
  const report = json.slice('{"report":'.length, json.lastIndexOf(',"view":{"title":'));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([report, "\n"], { type: "application/json" }));
  link.download = `${state.view.title.replace(/[^\w.-]+/g, "-").slice(0, 80) || "profile"}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}
