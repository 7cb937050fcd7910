import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { exampleTitles, exampleValues, readmeExample } from '../plugins/bulletproof/testing/readme-example.js'
import { testSecret } from '../plugins/edge-proxy/testing/edge-client.js'
import { startProxy } from '../plugins/edge-proxy/testing/proxy-process.js'
import { templateMatches } from '../plugins/queues/embedded/template.js'
import { ownTest, runNode, startApp, temporaryFolder } from './app-process.js'
import { snippetModules } from './docs/snippet-modules.js'
import { unpack, withTarball } from './pack.js'

describe('the packed package, and an app that its zin new creates from examples/custom-plugin', () => {
  const temporary = temporaryFolder()
  const modules = join(temporary.path, 'node_modules')
  const cli = join(modules, 'zin', 'dist', 'cli.js')
  const app = join(temporary.path, 'app')

  before(async () => {
    await mkdir(modules)
    for (const name of readdirSync('node_modules').filter((entry) => entry !== 'zin' && !entry.startsWith('.'))) {
      symlinkSync(resolve('node_modules', name), join(modules, name), 'junction')
    }
    await withTarball((tarball) => unpack(tarball, join(modules, 'zin')))
    const { code, stdout, stderr } = await runNode([cli, 'new', 'app', '--example', 'custom-plugin'], temporary.path)
    assert.equal(code, 0, stdout + stderr)
  })
  after(() => temporary.remove())

  it('has no scripts, which would refer to files of the checkout, and no development dependencies', () => {
    const manifest = JSON.parse(readFileSync(join(modules, 'zin', 'package.json'), 'utf8'))
    assert.deepEqual([manifest.name, manifest.scripts, manifest.devDependencies], ['zin', undefined, undefined])
    assert.ok(manifest.dependencies.koa)
  })

  it('contains one copy of the core, which all entry points share', () => {
    const dist = join(modules, 'zin', 'dist')
    const scripts = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js'))
    const cores = scripts.filter((name) => readFileSync(join(dist, name), 'utf8').includes('Symbol.for("zin.plugin")'))
    assert.equal(cores.length, 1, cores.join(', '))
  })

  it('contains the files of the embedded queue, created by the versions that it uses', async () => {
    assert.equal(await templateMatches(join(modules, 'zin', 'dist', 'queue-template')), true)
  })

  it('has types for a TypeScript 5.9 project, including the hooks of plugins', async () => {
    const lines = [
      "import { definePlugin } from 'zin'",
      "import 'zin/plugins/workers'",
      "export const typed = definePlugin({ name: 'typed', version: '1.0.0', setup({ hooks }) {",
      "  hooks.on('onJobStart', (worker, job) => { const names: [string, string] = [worker, job.name]; void names })",
      '  // @ts-expect-error: no plugin declares such a hook',
      "  hooks.on('onNothing', () => {})",
      '} })',
    ]
    writeFileSync(join(app, 'typed.ts'), lines.join('\n'))
    const { code, stdout } = await runNode([resolve('node_modules/typescript/bin/tsc'), '-p', '.'], app)
    assert.equal(code, 0, stdout)
  })

  it('has types with which the code in every document compiles, for a server and a bundler, with TypeScript 5.9 and 7', async () => {
    const folder = join(temporary.path, 'snippets')
    await mkdir(folder)
    cpSync('scripts/docs/given.ts', join(folder, 'given.ts'))
    for (const [name, text] of snippetModules('#given', 'documents')) {
      const file = join(folder, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', imports: { '#given': './given.ts' } }))
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: true, noEmit: true }
    const common = {
      ...strict,
      target: 'ES2022',
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: ['node'],
      allowImportingTsExtensions: true,
    }
    const compilers = [
      ['typescript', { module: 'NodeNext', moduleResolution: 'NodeNext' }],
      ['ts7', { module: 'ESNext', moduleResolution: 'Bundler' }],
    ] as const
    for (const [name, modules] of compilers) {
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...common, ...modules }, include: ['**/*.ts'] }))
      const { code, stdout } = await runNode([resolve('node_modules', name, 'bin/tsc'), '--pretty', 'false', '-p', folder], folder)
      assert.equal(code, 0, `${name}: ${stdout.slice(0, 5_000)}`)
    }
  })

  it('has types of zin/signer for browsers, which do not need those of Node, and with which the examples of its README compile', async () => {
    const folder = join(app, 'page')
    await mkdir(folder)
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }
    const page = { target: 'ES2022', lib: ['ES2022', 'DOM'], types: [], module: 'ESNext', moduleResolution: 'Bundler' }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...strict, ...page }, include: ['*.ts'] }))
    writeFileSync(join(folder, 'given.d.ts'), exampleValues.map((name) => `declare var ${name}: string\n`).join(''))
    for (const [index, title] of exampleTitles.entries())
      writeFileSync(join(folder, `example-${index}.ts`), `${readmeExample(title)}export {}\n`)
    writeFileSync(join(folder, 'no-node.ts'), '// @ts-expect-error: there is no Node here\nexport const node = process.env\n')
    const { code, stdout } = await runNode([resolve('node_modules/typescript/bin/tsc'), '-p', folder], app)
    assert.equal(code, 0, stdout)
  })

  it("passes the app's own tests", async () => {
    const { code, stdout, stderr } = await runNode(ownTest(app, cli), app)
    assert.equal(code, 0, stdout + stderr)
  })

  it('starts the app, which responds and ends cleanly on SIGTERM', async () => {
    const process = await startApp(app, { cli })
    assert.equal((await fetch(`${process.url}/api/slow-jobs`)).status, 200)
    assert.equal(await process.end('SIGTERM'), 0, process.output())
  })

  it('runs statements of the edge proxy in a separate process', async (t) => {
    const folder = join(temporary.path, 'edge')
    await mkdir(folder)
    const env = { EDGE_REMOTE_SECRET: testSecret, EDGE_REMOTE_MODE: 'sql' }
    const proxy = await startProxy(folder, ['--runtime', 'node'], env, cli)
    t.after(() => proxy.end('SIGKILL'))
    const { status, body } = await proxy.client.call('queryOne', { sql: 'SELECT 1 AS one' })
    assert.deepEqual([status, body.row], [200, { one: 1 }])
    assert.equal(await proxy.end('SIGTERM'), 0, proxy.output())
  })
})
