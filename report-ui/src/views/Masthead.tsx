import { Pieces } from "../parts/Pieces";
import { choose, themeChoice, type Chosen } from "../theme";

const NEXT: Record<Chosen, Chosen> = { auto: "light", light: "dark", dark: "auto" };

interface Props {
  title: string;
  headline: readonly string[];
  losses: readonly string[];
  sections: readonly { id: string; title: string }[];
  /** The page's data, as `--format json` writes it; null if there is none. */
  json: string | null;
}

/** What was run and where, losses, and links to the rest of the page. */
export function Masthead({ title, headline, losses, sections, json }: Props) {
  return (
    <header>
      <div class="masthead">
        <h1>
          <bdi>{title}</bdi>
        </h1>
        <nav aria-label="Parts of the report">
          {sections.map(({ id, title }) => (
            <a key={id} href={`#${id}`}>
              {title}
            </a>
          ))}
          {json !== null && (
            <button type="button" class="plain" onClick={() => save(title, json)} title="Save all of it as JSON">
              JSON
            </button>
          )}
          <button
            type="button"
            class="plain"
            onClick={() => choose(NEXT[themeChoice.value])}
            title="Light, dark, or the system's theme"
          >
            theme: {themeChoice.value}
          </button>
        </nav>
      </div>
      <Pieces pieces={headline} class="headline" />
      {losses.length > 0 && (
        <p class="losses" role="status">
          {losses.join(", ")}
        </p>
      )}
    </header>
  );
}

function save(title: string, json: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([json, "\n"], { type: "application/json" }));
  link.download = `${title.replace(/[^\w.-]+/g, "-").slice(0, 80) || "profile"}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}
