import "./style.css";
import "./runs.css";
import { ComparisonPage } from "./comparison/ComparisonPage";
import type { ComparisonPayload } from "./comparison/types";
import { start } from "./start";
import type { VariantsPayload } from "./variants/types";
import { VariantsPage } from "./variants/VariantsPage";

void start<ComparisonPayload | VariantsPayload>((payload, json) =>
  "comparison" in payload ? <ComparisonPage payload={payload} json={json} /> : <VariantsPage payload={payload} />,
);
