import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createRequire } from "node:module";
import { defineConfig } from "vite";

const STATIC = "../src/motionloom/studio/static";

// Networks and WebAssembly of MediaPipe Pose: the page loads them when "Show it" is opened, and
// `motionloom.formats.video` reads the networks from here.
const POSE = [
  "pose.js",
  "pose_landmark_lite.tflite",
  "pose_solution_packed_assets.data",
  "pose_solution_packed_assets_loader.js",
  "pose_solution_simd_wasm_bin.js",
  "pose_solution_simd_wasm_bin.wasm",
  "pose_web.binarypb",
];

function copiedPose() {
  return {
    name: "copied-pose",
    closeBundle() {
      const source = dirname(createRequire(import.meta.url).resolve("@mediapipe/pose/package.json"));
      mkdirSync(join(STATIC, "pose"), { recursive: true });
      for (const name of POSE) copyFileSync(join(source, name), join(STATIC, "pose", name));
    },
  };
}

// One page without references to other hosts: it must work on a machine without internet.
export default defineConfig({
  base: "./",
  plugins: [copiedPose()],
  build: {
    outDir: STATIC,
    emptyOutDir: true,
    chunkSizeWarningLimit: 1500,
    license: { fileName: "licenses.md" }, // of the packages inside the bundle
  },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8765", ws: true } } },
});
