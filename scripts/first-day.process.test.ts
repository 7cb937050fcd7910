import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { PackageUses, PluginFactory } from 'zin'
import * as factories from 'zin/plugins'
import { type Env, runNode, startApp, temporaryFolder } from './app-process.js'
import { type Installed, installForProduction } from './testing/production-install.js'

interface Condition {
  readonly env?: Env
  readonly options?: string
}

/** Packages that are needed with a setting or an option, and what makes them needed. */
const conditions: Readonly<Record<string, Condition>> = {
  '@electric-sql/pglite': {},
  '@node-rs/argon2': {},
  ioredis: { env: { REDIS_URL: 'redis://127.0.0.1:1' } },
  mysql2: { env: { DB_CONNECTION: 'rdb' } },
  mongodb: { env: { MONGODB_URL: 'mongodb://127.0.0.1:1' } },
  nodemailer: { options: "{ monitor: { smtp: { host: 'localhost', from: 'a@b.example' } } }" },
  jose: { options: "{ issuers: [{ issuer: 'https://id.example', audience: 'app', algorithms: ['RS256'] }] }" },
  otpauth: {
    options: '{ totp: true, verifyCredentials: async () => undefined }',
    env: { APP_KEY: 'an-app-key-of-at-least-thirty-two-bytes' },
  },
  'prom-client': { env: { METRICS_EXPORT_ENABLED: 'true' } },
  '@photostructure/sqlite': {},
}
const traced: Condition = { env: { WORKER_OPENTELEMETRY_ENABLED: 'true' } }

const entries = (Object.entries(factories) as readonly (readonly [string, PluginFactory])[]).filter(([, factory]) => 'spec' in factory)
const packagesOf = (spec: PluginFactory['spec']): PackageUses => spec.packages ?? {}

/** A plugin and those that it requires, by the names of their factories. */
function closureOf(name: string, found: Set<string> = new Set()): ReadonlySet<string> {
  if (found.has(name)) return found
  found.add(name)
  const { dependencies = [], uses = {} } = new Map(entries).get(name)?.spec ?? {}
  const ids = (Object.values(uses) as readonly { id: string; optional: boolean }[]).filter(({ optional }) => !optional).map(({ id }) => id)
  for (const [other, { spec }] of entries)
    if (dependencies.includes(spec.name) || spec.provides?.some(({ id }) => ids.includes(id))) closureOf(other, found)
  return found
}

const cases = entries.flatMap(([name, { spec }]) =>
  Object.entries(packagesOf(spec)).map(([pack, { when, added }]) => ({ name, plugin: spec.name, pack, when, added })),
)

describe('an app with only what npm installs for it in production', () => {
  const temporary = temporaryFolder()
  let installed: Installed

  before(async () => {
    installed = await installForProduction(temporary.path)
  })
  after(() => temporary.remove())

  it('has at most 60 packages and 45 MB', () => {
    assert.ok(installed.packages <= 60, `${installed.packages} packages`)
    assert.ok(installed.mb <= 45, `${Math.ceil(installed.mb)} MB`)
  })

  it('starts, responds and stops', async () => {
    const config = `
      import { defineConfig, defineRoute } from 'zin'
      const hello = defineRoute({
        method: 'GET', path: '/hello/:name', summary: 'x', serialize: 'schema',
        response: { 200: { type: 'object', properties: { hello: { type: 'string' } } } },
        handler: ({ input }) => ({ hello: input.params.name }),
      })
      const form = defineRoute({ method: 'POST', path: '/form', summary: 'x', bodyType: 'form', handler: ({ input }) => input.body })
      export default defineConfig({ routes: [hello, form] })`
    writeFileSync(join(temporary.path, 'zin.config.mjs'), config)
    const app = await startApp(temporary.path, { cli: installed.cli, probe: '/hello/x' })
    assert.deepEqual(await (await fetch(`${app.url}/hello/Ada`)).json(), { hello: 'Ada' })
    const form = await fetch(`${app.url}/form`, { method: 'POST', body: new URLSearchParams({ name: 'Ada', 'a[b]': 'c' }) })
    assert.deepEqual(await form.json(), { name: 'Ada', 'a[b]': 'c' })
    assert.equal(await app.end('SIGTERM'), 0, app.output())
  })

  for (const { name, plugin, pack, when, added } of cases) {
    const { env = {}, options = '' } = conditions[pack] ?? (pack.startsWith('@opentelemetry/') || pack === 'bullmq-otel' ? traced : {})
    // The stand-in is needed by old versions of Node only.
    const skip = pack === '@photostructure/sqlite' && process.getBuiltinModule('node:sqlite') !== undefined
    it(`is told in one line to add ${pack} for ${name}${when === undefined ? '' : ` when ${when}`}`, { skip }, async () => {
      assert.ok(when === undefined || pack in conditions || env === traced.env, `add what makes ${pack} needed to the table`)
      const names = [...closureOf(name)]
      // kv needs a store.
      const plugins = [...new Set(names.includes('kv') ? [...names, 'database'] : names)].map(
        (one) => `zin.${one}(${one === name ? options : ''})`,
      )
      const config = `import * as zin from 'zin/plugins'\nexport default { plugins: [${plugins.join(', ')}] }\n`
      writeFileSync(join(temporary.path, 'zin.config.mjs'), config)
      const { code, stderr } = await runNode([installed.cli, 'start'], temporary.path, { ...keys, ...env })
      assert.equal(code, 1, stderr)
      const lines = stderr.trimEnd().split('\n')
      const own = lines.filter((line) => line.startsWith(`zin start: ${plugin}: `))
      assert.equal(own.length, 1, stderr)
      assert.match(own[0] ?? '', new RegExp(`"${pack}".* not installed: run "zin add ${plugin}${added === false ? ' --all' : ''}.*"`))
      // Plugins that it requires may lack others.
      assert.deepEqual(
        lines.filter((line) => !line.endsWith('[ZIN_PACKAGE_MISSING]')),
        [],
      )
      assert.ok(lines.length <= plugins.length)
    })
  }
})

const keys: Env = { APP_KEY: 'k'.repeat(44), BULLETPROOF_SIGNING_SECRET: 's'.repeat(44), RDB_PROXY_SECRET: 'r'.repeat(44) }
