// The package as users get it: packed, installed into an empty project, used there, its types checked.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
let project;
let tarball;

const run = (program, ...args) =>
  execFileSync(program, args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

before(() => {
  project = mkdtempSync(join(tmpdir(), "damacy-"));
  const packed = execFileSync("npm", ["pack", "--json", "--pack-destination", project], {
    cwd: root,
    encoding: "utf8",
  });
  tarball = JSON.parse(packed)[0];
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  // It has no dependencies, so there is nothing to fetch.
  run("npm", "install", "--offline", "--no-audit", "--no-fund", `./${tarball.filename}`);
});
after(() => rmSync(project, { recursive: true, force: true }));

test("the tarball holds what is needed and nothing else", () => {
  const paths = tarball.files.map(({ path }) => path);
  for (const path of [
    "README.md",
    "dist/LICENSE-MIT",
    "dist/LICENSE-APACHE",
    "dist/index.js",
    "dist/index.d.ts",
    "dist/node.js",
    "dist/load.js",
    "dist/component/component.core.wasm",
  ]) {
    assert.ok(paths.includes(path), path);
  }
  assert.deepEqual(
    paths.filter((path) => !/^(dist\/|README\.md$|package\.json$)/.test(path)),
    [],
  );
  assert.ok(tarball.size < 200_000, `${tarball.size} bytes`);
  console.log(
    `tarball ${tarball.size} bytes, unpacked ${tarball.unpackedSize}, core module ${statSync(join(root, "dist/component/component.core.wasm")).size}`,
  );
});

test("nothing but node.js needs Node", () => {
  const dist = join(project, "node_modules/damacy/dist");
  const scripts = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length > 8);
  const needs = scripts.filter((name) =>
    /node:|\brequire\s*\(|(?<!globalThis\?\.)\bprocess\b/.test(readFileSync(join(dist, name), "utf8")),
  );
  assert.deepEqual(needs, ["node.js"]);
});

test("the README's example says what it does", () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const example = /```js\n(.*?)```/s.exec(readme)[1];
  let said = 0;
  const checked = example
    .replace(
      /^(convert\(.*\)); +\/\/ (\w+) \[(.*)\]$/gm,
      (_, call, kind, values) => (said++, `assert.deepEqual(${call}, new ${kind}([${values}]));`),
    )
    .replace(
      /^console\.log\((.*)\); +\/\/ (.*)$/gm,
      (_, values, words) => (said++, `assert.deepEqual([${values}], [${words.split(" ")}]);`),
    );
  assert.equal(said, 7);
  writeFileSync(
    join(project, "example.js"),
    `import assert from "node:assert/strict";\n${checked}\nconsole.log("ran");\n`,
  );
  assert.equal(run(process.execPath, "example.js"), "ran\n");
});

test("damacy/load works from bytes alone", () => {
  writeFileSync(
    join(project, "load.js"),
    `
    import { readFileSync } from "node:fs";
    import { load } from "damacy/load";
    const { convert } = await load({ wasm: readFileSync("node_modules/damacy/dist/component/component.core.wasm") });
    console.log(convert(new Int16Array([-1, 12, 256]), "u8").join());
  `,
  );
  assert.equal(run(process.execPath, "load.js"), "0,12,255\n");
});

test("the types hold, in strict mode, for the installed package", () => {
  cpSync(join(root, "tests/types.ts"), join(project, "types.ts"));
  // Only newer libraries declare it.
  const half =
    'import { convert } from "damacy";\nexport const x: Float32Array = convert(new Float16Array(1), "f32");\n';
  writeFileSync(join(project, "half.ts"), half);
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  for (const [module, lib, ...more] of [
    ["nodenext", "es2022"],
    ["preserve", "esnext,dom", "half.ts"],
  ]) {
    try {
      // Without Node's declarations, and with the declarations of the package checked too.
      run(
        process.execPath,
        tsc,
        "--noEmit",
        "--strict",
        "--exactOptionalPropertyTypes",
        "--target",
        "es2022",
        "--module",
        module,
        "--lib",
        lib,
        "--types",
        "",
        "types.ts",
        ...more,
      );
    } catch (error) {
      assert.fail(error.stdout);
    }
  }
});
