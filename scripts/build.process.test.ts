import assert from 'node:assert/strict'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type AppProcess, copyExample, type Env, linkPackages, runCli, runNode, startApp, temporaryFolder } from './app-process.js'

const files: Readonly<Record<string, string>> = {
  'package.json': '{ "type": "module", "dependencies": {} }',
  'tsconfig.json': '{ "compilerOptions": { "paths": { "@lib/*": ["./src/lib/*"] }, "module": "NodeNext" } }',
  'zin.config.ts': `
    import { defineConfig } from 'zin'
    import { cluster, database, kv, ops, queues, workers } from 'zin/plugins'
    import { shop } from './src/shop.js'
    export default defineConfig({ plugins: [database(), kv(), cluster(), queues(), ops(), workers(), shop()] })`,
  'src/shop.ts': `import { readFileSync } from 'node:fs'
import { definePlugin, type RouteContext } from 'zin'
import { workersService } from 'zin/plugins/workers'
import { greet } from '@lib/greet'
import words from './words.json' with { type: 'json' }
import { fail } from './fail.ts'

interface Kinds { readonly inline: string }

export const shop = definePlugin({
  name: 'shop',
  version: '1.0.0',
  uses: { workers: workersService },
  setup({ route, onReady, services }) {
    const sql = readFileSync(new URL('./all.sql', import.meta.url), 'utf8')
    route({ method: 'GET', path: '/words', summary: 'x', handler: () => ({ words, sql, greeting: greet('Ada') }) })
    route({ method: 'GET', path: '/fail', summary: 'x', handler: () => ({ stack: fail().stack }) })
    route({
      method: 'GET', path: '/jobs/:worker', summary: 'x',
      handler: async ({ input }: RouteContext) => {
        const { worker } = input.params as { worker: string }
        const { id } = await services.workers.enqueue(worker, { worker })
        for (let tries = 0; tries < 300; tries += 1) {
          const job = await services.workers.job(worker, id)
          if (job.status === 'completed') return { result: job.result }
          if (job.status === 'failed') return { failed: job.error }
          await new Promise((done) => setTimeout(done, 20))
        }
        return { failed: 'it did not end' }
      },
    })
    onReady(async () => {
      for (const isolation of ['inline', 'thread', 'process'] as const)
        for (const extension of ['', '.ts', '.js'])
          await services.workers.create({
            name: isolation + extension.replace('.', '-'), queueName: isolation + extension.replace('.', '-'), autoStart: true, isolation,
            processor: 'processors/job' + extension, jobOptions: { attempts: 1 },
          })
    })
  },
})`,
  'src/fail.ts': `type Unused = string

export function fail(): Error {
  return new Error('on purpose')
}`,
  'src/lib/greet.ts': "export const greet = (name: string): string => 'Hello, ' + name",
  'src/words.json': '["one","two"]',
  'src/all.sql': 'SELECT 1',
  'src/shop.test.ts': 'throw new Error("a test is not part of a build")',
  'processors/job.ts': `
import { greet } from '../src/lib/greet.ts'

export default async (job: { readonly data: { readonly worker: string } }): Promise<string> => greet(job.data.worker)`,
  'web/package.json': '{}',
  'web/page.ts': 'this is another package',
}

function write(folder: string, some: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(some)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/** As `linkPackages`, without what production does not have. */
function linkWithout(folder: string, absent: readonly string[]): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync('node_modules').filter((one) => !one.startsWith('.') && !absent.includes(one) && one !== 'zin'))
    symlinkSync(resolve('node_modules', name), join(modules, name), 'junction')
  // Its own folder, beside which there is no tsx either.
  cpSync('dist', join(modules, 'zin', 'dist'), { recursive: true })
  cpSync('package.json', join(modules, 'zin', 'package.json'))
}

const env: Env = { APP_KEY: 'k'.repeat(44), WORKER_PERSISTENCE_DRIVER: 'db', WORKER_AUTO_START: 'true' }

describe('zin build', () => {
  const temporary = temporaryFolder()
  const app = join(temporary.path, 'app')
  const production = join(temporary.path, 'production')

  before(async () => {
    write(app, files)
    linkPackages(app)
    const { code, stdout, stderr } = await runCli(['build'], app)
    assert.equal(code, 0, stdout + stderr)
    assert.match(stdout, /^Built build\/ in \d+ ms: 5 compiled and 2 copied files/)
  })
  after(() => temporary.remove())

  it('writes the configuration, plugins and processors with source maps, and leaves out tests and other packages', () => {
    const built = readdirSync(join(app, 'build'), { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name))
    assert.deepEqual(built.map((name) => name.replaceAll('\\', '/')).sort(), [
      'processors/job.js',
      'processors/job.js.map',
      'src/all.sql',
      'src/fail.js',
      'src/fail.js.map',
      'src/lib/greet.js',
      'src/lib/greet.js.map',
      'src/shop.js',
      'src/shop.js.map',
      'src/words.json',
      'zin-build.json',
      'zin.config.js',
      'zin.config.js.map',
    ])
    assert.match(readFileSync(join(app, 'build/src/shop.js'), 'utf8'), /from "\.\/lib\/greet\.js"/)
  })

  describe('of an app that is deployed without its sources, tsx, esbuild and TypeScript', () => {
    let running: AppProcess
    before(async () => {
      mkdirSync(production)
      for (const name of ['build', 'package.json']) cpSync(join(app, name), join(production, name), { recursive: true })
      linkWithout(production, ['tsx', 'esbuild', 'typescript', 'ts7'])
      running = await startApp(production, { cli: join(production, 'node_modules/zin/dist/cli.js'), env, probe: '/words' })
    })
    after(async () => {
      assert.equal(await running.end('SIGTERM'), 0, running.output())
    })
    const get = async (path: string): Promise<unknown> => (await fetch(running.url + path)).json()

    it('serves it, with the files beside its modules', async () => {
      assert.deepEqual(await get('/words'), { words: ['one', 'two'], sql: 'SELECT 1', greeting: 'Hello, Ada' })
    })

    it('names the lines of the sources in stacks', async () => {
      assert.match(((await get('/fail')) as { stack: string }).stack, /src[\\/]fail\.ts:4:10/)
    })

    for (const isolation of ['inline', 'thread', 'process']) {
      for (const extension of ['', '-ts', '-js']) {
        const worker = isolation + extension
        it(`runs a processor ${isolation} that is named ${extension === '' ? 'without extension' : extension.replace('-', '*.')}`, async () => {
          assert.deepEqual(await get(`/jobs/${worker}`), { result: `Hello, ${worker}` })
        })
      }
    }
  })

  it('finds tsx and esbuild of an app that alone sees them, as with pnpm; so do zin start, zin test and processors', async () => {
    const [store, strict] = [join(temporary.path, 'store'), join(temporary.path, 'strict')]
    mkdirSync(store)
    linkWithout(store, ['tsx', 'esbuild', 'typescript', 'ts7'])
    write(strict, { ...files, 'src/shop.test.ts': 'const passed: string = "passed"\nconsole.log(passed)' })
    mkdirSync(join(strict, 'node_modules'))
    symlinkSync(join(store, 'node_modules/zin'), join(strict, 'node_modules/zin'), 'junction')
    symlinkSync(resolve('node_modules/tsx'), join(strict, 'node_modules/tsx'), 'junction')
    const cli = join(store, 'node_modules/zin/dist/cli.js')
    const running = await startApp(strict, { cli, env, probe: '/words' })
    for (const worker of ['inline', 'thread', 'process'])
      assert.deepEqual(await (await fetch(`${running.url}/jobs/${worker}`)).json(), { result: `Hello, ${worker}` })
    assert.equal(await running.end('SIGTERM'), 0, running.output())
    for (const command of ['test', 'build']) {
      const { code, stdout, stderr } = await runNode([cli, command], strict)
      assert.equal(code, 0, stdout + stderr)
    }
  })

  it('is what zin start runs, until a source changes; then it says so, and runs the sources', async () => {
    const listed = async () => {
      const { stdout, stderr } = await runCli(['routes', '--json'], app, env)
      return stdout + stderr
    }
    assert.match(await listed(), /"\/words"/)
    const shop = join(app, 'src/shop.ts')
    writeFileSync(shop, (files['src/shop.ts'] ?? '').replace("'/words'", "'/other-words'"))
    assert.match(await listed(), /"\/other-words"/)
    const changed = await startApp(app, { env, probe: '/other-words' })
    assert.equal(await changed.end('SIGTERM'), 0)
    assert.match(changed.output(), /src\/shop\.ts has changed since the app was built: it runs from its sources; run "zin build"/)
    cpSync(join(app, 'src'), join(production, 'src'), { recursive: true })
    cpSync(join(app, 'zin.config.ts'), join(production, 'zin.config.ts'))
    const cli = join(production, 'node_modules/zin/dist/cli.js')
    await assert.rejects(startApp(production, { cli, env, probe: '/words' }), {
      message: /is TypeScript, and src\/shop\.ts has changed since the app was built: run "zin build" .*\[ZIN_CONFIG_UNBUILT\]/,
    })
    writeFileSync(shop, files['src/shop.ts'] ?? '')
  })

  it('names the place of an error, and keeps the last build', async () => {
    writeFileSync(join(app, 'src/fail.ts'), 'export const = 1\n')
    const { code, stderr } = await runCli(['build'], app)
    assert.equal(code, 1)
    assert.match(stderr, /^zin build: src\/fail\.ts:1:14: Expected identifier but found "="/)
    writeFileSync(join(app, 'src/fail.ts'), "import './nothing.js'\n")
    assert.match((await runCli(['build'], app)).stderr, /src\/fail\.ts:1:8: Could not resolve "\.\/nothing\.js"/)
    writeFileSync(join(app, 'src/fail.ts'), files['src/fail.ts'] ?? '')
    assert.ok(existsSync(join(app, 'build/zin.config.js')))
    assert.ok(!existsSync(join(app, 'build.new')))
  })

  it('does not replace a folder that it has not written', async () => {
    const other = join(temporary.path, 'other')
    write(other, { 'package.json': '{ "type": "module" }', 'zin.config.ts': 'export default {}', 'build/mine.txt': 'x' })
    const { code, stderr } = await runCli(['build'], other)
    assert.equal(code, 1)
    assert.match(stderr, /build exists and was not written by "zin build"/)
    rmSync(other, { recursive: true })
  })

  it('builds the example full, whose worker runs as before', async () => {
    const folder = copyExample('full', temporary.path)
    assert.equal((await runCli(['build'], folder)).code, 0)
    for (const name of ['zin.config.js', 'processors/email-sender.js']) assert.ok(existsSync(join(folder, 'build', name)))
    for (const name of ['zin.config.ts', 'processors', 'emails']) rmSync(join(folder, name), { recursive: true, force: true })
    const started = await startApp(folder)
    assert.equal(await started.end('SIGTERM'), 0, started.output())
    assert.doesNotMatch(started.output(), /INVALID_PROCESSOR_PATH/)
  })
})
