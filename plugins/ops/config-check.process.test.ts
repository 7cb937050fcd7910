import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type AppFolder, appFolder } from '../../scripts/testing/app-folder.js'

const config = (plugins: string): string => `
import { defineConfig } from 'zin'
import { bulletproof } from 'zin/plugins/bulletproof'
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
