import { defineConfig } from "vite";

// The run-time for games: one readable module without dependencies; tsc writes its types next to it.
export default defineConfig({
  build: {
    outDir: "../src/motionloom/studio/static/runtime",
    emptyOutDir: true,
    minify: false,
    lib: { entry: "src/runtime/index.ts", formats: ["es"], fileName: () => "index.js" },
  },
});
