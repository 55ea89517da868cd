import { configDefaults, defineConfig } from "vitest/config";
import usual, { FAULT_TESTS } from "./vitest.config.ts";

export default defineConfig({
  ...usual,
  test: { ...usual.test, include: [FAULT_TESTS], exclude: configDefaults.exclude },
});
