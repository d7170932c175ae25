import { defineConfig } from "vite";

// The page of exported controllers: one classic script, because pages opened from disk cannot load modules.
export default defineConfig({
  build: {
    outDir: "../src/motionloom/studio/static/controller",
    emptyOutDir: true,
    lib: { entry: "src/controller-page/page.ts", formats: ["iife"], name: "motionloomPage", fileName: () => "page.js" },
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 1500,
  },
});
