// Bundles the console into dist/: index.html, hashed scripts and styles, and the licences of what is in them.
//
//   node build.mjs            once, minified
//   node build.mjs --watch    again whenever a source changes
//   CONSOLE_DIST=elsewhere …     into another directory
//
// The names of scripts and styles tell their content, so that they may be cached for ever; index.html alone is asked for anew.

import { context } from "esbuild";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = process.env.CONSOLE_DIST ?? join(here, "dist");
const watching = process.argv.includes("--watch");

/** The packages whose files went into the bundle. */
function packagesOf(inputs) {
  const names = Object.keys(inputs).map((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(names.filter(Boolean))].sort();
}

function licenceOf(name) {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} brings no licence text: it cannot be bundled.`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}

const page = {
  name: "page",
  setup(build) {
    build.onEnd(({ errors, metafile }) => {
      if (errors.length) return;
      const made = Object.entries(metafile.outputs);
      const named = (entry) => basename(made.find(([, output]) => output.entryPoint === entry)[0]);
      const html = readFileSync(join(here, "index.html"), "utf8")
        .replace("main.js", named("src/main.tsx"))
        .replace("style.css", named("src/style.css"));
      const licences = packagesOf(metafile.inputs).map(licenceOf).join(`\n${"-".repeat(80)}\n\n`);
      writeFileSync(join(dist, "licences.txt"), licences);
      // The page after all that it names; what an earlier page named goes last. A build that fails changes nothing.
      writeFileSync(join(dist, "index.html"), html);
      const kept = new Set(["index.html", "licences.txt", ...made.map(([path]) => basename(path))]);
      for (const entry of readdirSync(dist)) if (!kept.has(entry)) rmSync(join(dist, entry), { recursive: true });
    });
  },
};

const builder = await context({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx", "src/style.css"],
  outdir: dist,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  minify: !watching,
  sourcemap: watching ? "inline" : false,
  legalComments: "none",
  metafile: true,
  logLevel: "info",
  plugins: [page],
});
if (watching) {
  await builder.watch();
} else {
  await builder.rebuild();
  await builder.dispose();
}
