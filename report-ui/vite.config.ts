import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** Writes a policy into the page: its own script may run, no other script, and no requests. */
function policy(built: string): Plugin {
  return {
    name: "ticktree-policy",
    enforce: "post",
    closeBundle() {
      const page = readFileSync(built, "utf8");
      const scripts = [...page.matchAll(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g)];
      if (scripts.length !== 1) throw new Error(`${scripts.length} scripts in the page instead of one`);
      const hash = createHash("sha256").update(scripts[0]![1]!).digest("base64");
      const directives = `default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`;
      writeFileSync(built, page.replace("@@ticktree-policy@@", directives));
    },
  };
}

// One page per build, because each is one file: `--mode run` for the report of a run, `--mode runs` for several runs.
export default defineConfig(({ mode }) => ({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), policy(`dist/${mode}/index.html`)],
  build: {
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
    outDir: `dist/${mode}`,
  },
}));
