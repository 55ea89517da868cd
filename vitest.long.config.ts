import { configDefaults, defineConfig } from "vitest/config";
import usual, { LONG_TESTS } from "./vitest.config.ts";

export default defineConfig({
  ...usual,
  test: { ...usual.test, include: LONG_TESTS, exclude: configDefaults.exclude },
});
