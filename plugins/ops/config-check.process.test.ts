import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

const config = (plugins: string): string => `
import { defineConfig, definePlugin, defineService } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { ops } from 'zin/plugins/ops'
export default defineConfig({ app: { name: 'shop', port: 0 }, shutdown: { delayMs: 5_000 }, plugins: [${plugins}] })
`
const production = { NODE_ENV: 'production', JWT_SECRET: 'j'.repeat(32), APP_KEY: 'k'.repeat(32) }

async function withApp(plugins: string, test: (app: AppFolder) => Promise<void>): Promise<void> {
  const app = await appFolder({ 'zin.config.mjs': config(plugins) })
  try {
    await test(app)
  } finally {
    await app.remove()
  }
}

/** Lines on stderr without the name of the command, and without what is logged. */
const complaints = (err: string, command: string): readonly string[] =>
  err
    .split('\n')
    .filter((line) => line.startsWith(`zin ${command}: `))
    .map((line) => line.slice(`zin ${command}: `.length))

/** The messages of the errors that a command with `--json` writes to stderr, one line each. */
const errorsOf = (err: string): readonly string[] =>
  err
    .split('\n')
    .filter((line) => line.startsWith('{"error":'))
    .map((line) => (JSON.parse(line) as { message: string }).message)

describe('zin config:check', () => {
  it('reports the startup errors, and still lists the settings', () =>
    withApp('jwt(), bulletproof(), ops()', async (app) => {
      const env = { ...production, BULLETPROOF_SIGNING_SECRET: 'too-short-canary' }
      const checked = await app.zin(['config:check', '--json'], env)
      assert.equal(checked.code, 1)
      const [problem, ...more] = errorsOf(checked.err)
      assert.match(problem ?? '', /^bulletproof: BULLETPROOF_SIGNING_SECRET has 16 bytes and production requires 32 or more/)
      assert.deepEqual(more, [])
      assert.ok((JSON.parse(checked.out) as { name: string }[]).some(({ name }) => name === 'OPS_AUTH'))
      assert.doesNotMatch(checked.out + checked.err, /canary/)
      const started = await app.zin(['start'], env)
      assert.equal(started.code, 1)
      assert.ok(
        complaints(started.err, 'start')
          .join()
          .includes(problem ?? ''),
        started.err,
      )
    }))

  it('reports what every plugin lacks in production at once, with what to set, and so does the start', () =>
    withApp('database(), jwt(), bulletproof(), ops()', async (app) => {
      const env = { NODE_ENV: 'production', OPS_AUTH: 'open', DB_CONNECTION: 'rdb', BULLETPROOF_SIGNING_SECRET: 'short' }
      const checked = await app.zin(['config:check', '--json'], env)
      const problems = errorsOf(checked.err)
      for (const expected of [
        /^database: .* Create a user for this app and set DB_USERNAME and DB_PASSWORD$/,
        /^jwt: HS256 tokens require JWT_SECRET or APP_KEY; set it in the environment or \.env/,
        /^bulletproof: BULLETPROOF_SIGNING_SECRET has 5 bytes and production requires 32 or more; run "zin key:bulletproof"$/,
        /^bulletproof: APP_KEY encrypts the device secrets .* set it to 32 random bytes or more in the environment or \.env\. A new secret: node -e /,
        /^ops: OPS_AUTH=open is refused in production; set it to required, or to auto$/,
      ]) {
        assert.equal(problems.filter((problem) => expected.test(problem)).length, 1, `${expected} in\n${problems.join('\n')}`)
      }
      assert.deepEqual([checked.code, problems.length], [1, 5])
      assert.ok((JSON.parse(checked.out) as { name: string }[]).some(({ name }) => name === 'DB_USERNAME'))
      const started = await app.zin(['start'], env)
      assert.deepEqual([started.code, complaints(started.err, 'start').length], [1, 5], started.err)
      const invalid = await app.zin(['config:check'], { ...env, PORT: 'eighty', JWT_EXPIRES_IN: 'soon' })
      assert.deepEqual([invalid.code, complaints(invalid.err, 'config:check').length], [1, 6], invalid.err)
      assert.match(invalid.err, /core: PORT=eighty: expected an integer from 0 to 65535 \(set in the environment, read by core\)/)
    }))

  it('reports what plugins lack beside those that cannot be sorted, also in production', () => {
    const own = (name: string, more: string): string => `definePlugin({ name: '${name}', version: '1.0.0', ${more} setup() {} })()`
    const [here, there] = ['here', 'there'].map((name) => `defineService('${name}')`)
    const plugins = [
      'database(), jwt(), bulletproof(), ops()',
      own('shop', "dependencies: ['mail'],"),
      own('here', `provides: [${here}], uses: { there: ${there} },`),
      own('there', `provides: [${there}], uses: { here: ${here} },`),
      own('behind', `uses: { here: ${here} },`),
    ].join(', ')
    return withApp(plugins, async (app) => {
      const env = { NODE_ENV: 'production', OPS_AUTH: 'open', DB_STATEMENT_TIMEOUT_MS: '1', BULLETPROOF_SIGNING_SECRET: 'short' }
      for (const command of ['config:check', 'start']) {
        const { code, err } = await app.zin([command], env)
        const problems = complaints(err, command)
        for (const expected of [
          /^shop: depends on plugin "mail", which is not enabled/,
          /^here: circular dependency: here → there .* → here/,
          /^database: DB_STATEMENT_TIMEOUT_MS=1/,
          /^jwt: HS256 tokens require JWT_SECRET or APP_KEY/,
          /^bulletproof: BULLETPROOF_SIGNING_SECRET has 5 bytes/,
          /^bulletproof: APP_KEY encrypts the device secrets/,
          /^ops: OPS_AUTH=open is refused in production/,
        ])
          assert.equal(problems.filter((problem) => expected.test(problem)).length, 1, `${expected} in\n${problems.join('\n')}`)
        assert.deepEqual([code, problems.length], [1, 7], problems.join('\n'))
      }
    })
  })

  it('reports everything at once: an app in which only that is set right starts', () =>
    withApp("database(), jwt(), bulletproof({ deviceStore: 'memory' }), ops()", async (app) => {
      const wrong = {
        NODE_ENV: 'production',
        PORT: 'eighty',
        JWT_SECRET: 'short',
        BULLETPROOF_SIGNING_SECRET: 'short',
        OPS_AUTH: 'open',
        DB_STATEMENT_TIMEOUT_MS: '1',
      }
      const { err } = await app.zin(['config:check'], wrong)
      const right: Readonly<Record<string, string>> = {
        PORT: '0',
        JWT_SECRET: 'j'.repeat(32),
        BULLETPROOF_SIGNING_SECRET: 's'.repeat(32),
        OPS_AUTH: 'required',
        DB_STATEMENT_TIMEOUT_MS: '1000',
      }
      const named = Object.entries(right).filter(([name]) => complaints(err, 'config:check').join('\n').includes(name))
      const mended = await app.zin(['config:check'], { ...wrong, ...Object.fromEntries(named) })
      assert.deepEqual([mended.code, complaints(mended.err, 'config:check')], [0, []], err + mended.err)
    }))

  it('reports no error for an app that starts', () =>
    withApp("jwt(), ops(), bulletproof({ deviceStore: 'memory' })", async (app) => {
      const { code, err } = await app.zin(['config:check'], { ...production, OPS_AUTH: 'required' })
      assert.deepEqual([code, complaints(err, 'config:check')], [0, []], err)
    }))

  it('reports that no plugin checks the required credentials', () =>
    withApp('ops()', async (app) => {
      const { code, err } = await app.zin(['config:check'], production)
      assert.equal(code, 1)
      assert.match(
        complaints(err, 'config:check').join('\n'),
        /^ops: this is production, so callers need credentials, but no plugin checks them/,
      )
    }))
})
