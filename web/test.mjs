// Bundles the tests of modules (tests/*.test.ts) for Node, and runs them. What needs a browser is tested in ../tests/web.
//
//   node test.mjs            all of them
//   node test.mjs fold       those of one, or of some
//   SEED=17 node test.mjs    the same histories as in a run that failed

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const asked = process.argv.slice(2).map((name) => `${name}.test.ts`);
const tests = asked.length ? asked : readdirSync(join(here, "tests")).filter((name) => name.endsWith(".test.ts"));
const out = mkdtempSync(join(tmpdir(), "console-tests-"));
try {
  await build({
    absWorkingDir: here, entryPoints: tests.map((name) => join("tests", name)), outdir: out, outExtension: { ".js": ".mjs" },
    bundle: true, platform: "node", format: "esm", target: "node20", jsx: "automatic", jsxImportSource: "preact", sourcemap: "inline", logLevel: "warning",
  });
  const built = tests.map((name) => join(out, name.replace(/\.ts$/, ".mjs")));
  process.exitCode = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...built], { stdio: "inherit" }).status ?? 1;
} finally {
  rmSync(out, { recursive: true });
}
