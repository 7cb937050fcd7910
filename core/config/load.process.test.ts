import assert from 'node:assert/strict'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { loadConfig } from './load.js'

// Alone, because loading a TypeScript configuration registers tsx for the whole process: modules that are loaded later would exist twice.

const folders: string[] = []
after(async () => {
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

async function app(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'zin-load-')))
  folders.push(folder)
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

test('zin.config.ts is found from a folder below it and loads TypeScript, .js imports of .ts files and top-level await', async () => {
  const rootDir = await app({
    'zin.config.ts':
      "import { port } from './lib/port.js'\nenum E { A = 1 }\nawait Promise.resolve()\nexport default { app: { port: port + E.A } }\n",
    'lib/port.ts': 'export const port: number = Number(process.env.ZIN_LOAD_TEST_PORT)\n',
    '.env': 'ZIN_LOAD_TEST_PORT=7000\n',
    'src/deep/x.txt': '',
  })
  const loaded = await loadConfig(join(rootDir, 'src/deep'))
  assert.deepEqual(loaded.exported, { app: { port: 7001 } })
  assert.deepEqual([loaded.rootDir, loaded.file], [rootDir, join(rootDir, 'zin.config.ts')])
  assert.equal(loaded.env.sourceOf('ZIN_LOAD_TEST_PORT'), '.env')
  delete process.env.ZIN_LOAD_TEST_PORT
})

for (const name of ['zin.config.mts', 'zin.config.mjs', 'zin.config.js']) {
  test(`${name} loads, too`, async () => {
    const loaded = await loadConfig(await app({ [name]: "export default { app: { name: 'x' } }\n" }), {})
    assert.deepEqual(loaded.exported, { app: { name: 'x' } })
  })
}

test('without a configuration the error contains the possible names, the folder and how to start', async () => {
  const cwd = await app({})
  await assert.rejects(loadConfig(cwd, {}), (error: Error & { code?: string }) => {
    assert.equal(error.code, 'ZIN_CONFIG_MISSING')
    for (const part of ['zin.config.ts', 'zin.config.mts', 'zin.config.mjs', 'zin.config.js', cwd, 'zin new'])
      assert.ok(error.message.includes(part), part)
    return true
  })
})

test('a configuration in an unsupported format is refused with the fix, even if there is another one above it', async () => {
  const rootDir = await app({ 'zin.config.ts': 'export default {}\n', 'sub/zin.config.cjs': 'module.exports = {}\n' })
  await assert.rejects(loadConfig(join(rootDir, 'sub'), {}), {
    code: 'ZIN_CONFIG_UNSUPPORTED',
    message: `${join(rootDir, 'sub/zin.config.cjs')} is a CommonJS module; the configuration is an ES module: name it zin.config.mjs and write export default defineConfig({ … })`,
  })
  for (const ending of ['cts', 'json', 'yaml', 'tsx']) {
    const message = new RegExp(`zin\\.config\\.${ending} is a \\.${ending} file; .* name it zin\\.config\\.ts`)
    await assert.rejects(loadConfig(await app({ [`zin.config.${ending}`]: '' }), {}), { code: 'ZIN_CONFIG_UNSUPPORTED', message })
  }
  const both = await app({ 'zin.config.ts': 'export default {}\n', 'zin.config.json': '{}' })
  assert.equal((await loadConfig(both, {})).file, join(both, 'zin.config.ts'))
})

test('a syntax error is reported with file, line and column, also in a file that the configuration imports', async () => {
  const broken = 'export default {\n  plugins: [\n    a a\n  ],\n}\n'
  for (const name of ['zin.config.ts', 'zin.config.mjs']) {
    const rootDir = await app({ [name]: broken })
    await assert.rejects(loadConfig(rootDir, {}), {
      code: 'ZIN_CONFIG_SYNTAX',
      message: `${join(rootDir, name)}:3:7: Expected "]" but found "a"`,
    })
  }
  const rootDir = await app({
    'zin.config.ts': "import x from './my lib/x.js'\nexport default { app: x }\n",
    'my lib/x.ts': 'export default = 1\n',
  })
  await assert.rejects(loadConfig(rootDir, {}), { code: 'ZIN_CONFIG_SYNTAX', message: /my lib\/x\.ts:1:16: / })
})

test('an import that a local file does not export is reported with file, line and column', async () => {
  const rootDir = await app({
    'zin.config.ts': "import { nope } from './x.js'\nexport default { app: nope }\n",
    'x.ts': 'export const x = 1\n',
  })
  await assert.rejects(loadConfig(rootDir, {}), { code: 'ZIN_CONFIG_SYNTAX', message: /zin\.config\.ts:1:10: .*"nope"/ })
})

test('a package that lacks an imported name is reported with file, line and column', async () => {
  const rootDir = await app({
    'zin.config.ts': "type T = 1\nimport { nope } from 'some-package'\nexport default { app: nope }\n",
    'node_modules/some-package/package.json': '{"type":"module","exports":"./index.js"}',
    'node_modules/some-package/index.js': 'export const x = 1\n',
  })
  await assert.rejects(loadConfig(rootDir, {}), { code: 'ZIN_CONFIG_SYNTAX', message: /zin\.config\.ts:\d:\d+: .*'nope'/ })
})

test('a ZinError keeps its code and gets a location', async () => {
  const rootDir = await app({
    'zin.config.ts': `import { env } from ${JSON.stringify(import.meta.resolve('./env.js'))}\nexport default {\n  app: { port: env.int('ZIN_LOAD_TEST_BAD', 1) },\n}\n`,
    '.env': 'ZIN_LOAD_TEST_BAD=many\n',
  })
  await assert.rejects(loadConfig(rootDir), {
    code: 'ZIN_SETTING_INVALID',
    message: `ZIN_LOAD_TEST_BAD=many: expected an integer (read by zin.config.ts) (${join(rootDir, 'zin.config.ts')}:3:20)`,
  })
  delete process.env.ZIN_LOAD_TEST_BAD
})

test('an import of a missing package or file is named', async () => {
  await assert.rejects(loadConfig(await app({ 'zin.config.ts': "import 'no-such-package'\nexport default {}\n" }), {}), {
    code: 'ZIN_CONFIG_IMPORT',
    message: /'no-such-package' imported from .*zin\.config\.ts; check that it is installed/,
  })
  await assert.rejects(loadConfig(await app({ 'zin.config.mjs': "import './gone.js'\nexport default {}\n" }), {}), {
    code: 'ZIN_CONFIG_IMPORT',
    message: /gone\.js/,
  })
})

test('an exception while loading is reported with the topmost line of the app', async () => {
  const rootDir = await app({
    'zin.config.ts': "import { f } from './lib.js'\ninterface X { a: number }\n\nexport default { app: f() }\n",
    'lib.ts': 'type T = string\nexport function f(): T {\n  return JSON.parse("{") as T\n}\n',
  })
  await assert.rejects(loadConfig(rootDir, {}), { code: 'ZIN_CONFIG_FAILED', message: /lib\.ts:3:15: SyntaxError: Expected property name/ })
  const thrower = await app({
    'zin.config.ts':
      'interface X { a: number }\n\nfunction f(): never {\n  throw new TypeError("no luck")\n}\nexport default { app: f() }\n',
  })
  await assert.rejects(loadConfig(thrower, {}), {
    code: 'ZIN_CONFIG_FAILED',
    message: `${join(thrower, 'zin.config.ts')}:4:9: TypeError: no luck`,
  })
  const odd = await app({ 'zin.config.mjs': "throw 'text'\n" })
  await assert.rejects(loadConfig(odd, {}), { code: 'ZIN_CONFIG_FAILED', message: `${join(odd, 'zin.config.mjs')}: threw text` })
})

test('a TypeScript configuration of a CommonJS package is refused with the fix', async () => {
  const rootDir = await app({ 'package.json': '{}', 'zin.config.ts': 'export default {}\n' })
  await assert.rejects(loadConfig(rootDir, {}), { code: 'ZIN_CONFIG_COMMONJS', message: /"type": "module"/ })
})
