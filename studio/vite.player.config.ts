import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { defineConfig, type Plugin } from "vite";

/** Write first which sources the script was built from, so that a test notices when it is out of date. */
const sources: Plugin = {
  name: "sources",
  generateBundle(_, bundle) {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk") continue;
      const files = Object.keys(chunk.modules)
        .map((file) => relative(import.meta.dirname, file).replaceAll("\\", "/"))
        .filter((file) => file.startsWith("src/"))
        .sort();
      const digest = createHash("sha256");
      for (const file of files) digest.update(readFileSync(file));
      chunk.code = `// Built by build_page.py from studio/{${files.join(",")}}, sha256 ${digest.digest("hex")}\n${chunk.code}`;
    }
  },
};

// The player for pages without a server: a classic script, because pages opened from disk cannot load modules. It is small and
// kept in the repository, so that pages can be written where there is no Node.
export default defineConfig({
  plugins: [sources],
  build: {
    outDir: "../src/motionloom/plots/pages/built",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/player/index.ts", formats: ["iife"], name: "motionloom", fileName: () => "player.js" },
  },
});
