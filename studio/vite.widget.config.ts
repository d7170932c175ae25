import { defineConfig } from "vite";

// The stage for notebooks: one module that needs no other file (anywidget reads it as text).
export default defineConfig({
  build: {
    outDir: "../src/motionloom/studio/static",
    emptyOutDir: false, // the page is built first
    lib: { entry: "src/widget.ts", formats: ["es"], fileName: () => "widget.js" },
    chunkSizeWarningLimit: 1500,
  },
});
