// ES modules -> one module: each file becomes a function that returns its exports, in the order of their imports.
//
// It knows the forms that this page and the compiled npm package are written in, and refuses any other, so that nothing
// is lost quietly: import { a, b as c } from "./x.js"; export { a } from "./x.js"; export before an (async) function,
// a class, a const or a let.

import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

const IMPORT = /^import \{([^}]*)\} from "(\.[^"]+)";$/gm;
const REEXPORT = /^export \{([^}]*)\} from "(\.[^"]+)";$/gm;
const EXPORT = /(^|[;}])export (?=((?:async )?function\*?|class|const|let) ([\w$]+))/gm;
const LEFT = /(^|[;}])\s*(import\s*[{*"'\w]|export\s*[{*\w])/m;

const names = (list) =>
  list
    .split(",")
    .map((one) => one.trim().split(/\s+as\s+/))
    .filter(([name]) => name);
const pattern = (list) =>
  names(list)
    .map(([name, local = name]) => (name === local ? name : `${name}: ${local}`))
    .join(", ");

/** The one module's text for an entry file. */
export async function bundle(entry) {
  const done = new Map(); // path -> variable
  const parts = [];
  const add = async (path) => {
    if (done.has(path)) {
      if (done.get(path) === undefined) throw new Error(`${path} imports itself by way of others`);
      return done.get(path);
    }
    done.set(path, undefined);
    let text = (await readFile(path, "utf8")).replace(/^"use components";/, "").replace(/^export \{\};$/m, "");
    for (const [, , from] of [...text.matchAll(IMPORT), ...text.matchAll(REEXPORT)])
      await add(resolve(dirname(path), from));
    const variable = (from) => done.get(resolve(dirname(path), from));
    const exported = [];
    text = text.replace(IMPORT, (_, list, from) => `const { ${pattern(list)} } = ${variable(from)};`);
    text = text.replace(REEXPORT, (_, list, from) => {
      exported.push(...names(list).map(([name, as = name]) => `${as}: ${variable(from)}.${name}`));
      return "";
    });
    text = text.replace(EXPORT, (_, before, kind, name) => {
      exported.push(name);
      return before;
    });
    const left = LEFT.exec(text.replace(/`(?:[^`\\]|\\.)*`/g, "``"));
    if (left)
      throw new Error(`${path} has a form of import or export that this build does not know: ${left[0].trim()}`);
    const own = `$${parts.length}`;
    done.set(path, own);
    const isEntry = parts.entry === path;
    parts.push(
      isEntry
        ? `await (async () => {\n${text}\n})();\n`
        : `const ${own} = (() => {\n${text}\nreturn { ${exported.join(", ")} };\n})();\n`,
    );
    return own;
  };
  parts.entry = resolve(entry);
  await add(parts.entry);
  return parts.join("");
}
