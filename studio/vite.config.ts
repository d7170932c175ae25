import { defineConfig } from "vite";

// One page without references to other hosts: it must work on a machine without internet.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../src/motionloom/studio/static",
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    license: { fileName: "licenses.md" }, // of the packages inside the bundle
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8765", ws: true } } },
});
