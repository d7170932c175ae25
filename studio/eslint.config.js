import js from "@eslint/js";
import { configs as lit } from "eslint-plugin-lit";
import { globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

// Prettier owns the layout; these rules look for mistakes. Rules that need types are few: they cost seconds.
export default tseslint.config(
  globalIgnores(["generated"]),
  js.configs.recommended,
  tseslint.configs.recommended,
  lit["flat/recommended"],
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "one-var": ["error", "never"],
      "prefer-const": "error",
    },
  },
  { files: ["*.js", "*.ts"], extends: [tseslint.configs.disableTypeChecked] },
);
