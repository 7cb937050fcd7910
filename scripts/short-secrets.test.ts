import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { it } from 'node:test'
import { defineConfig } from 'zin'
import { bulletproof, database, jwt, kv, login, sessions } from 'zin/plugins'
import { memoryLogger } from 'zin/testing'
import { plainEnv } from '../core/config/read-settings.js'
import { Host } from '../core/host/host.js'

it('a boot that is refused because secrets are too short does not say that there are none', async () => {
  const log = memoryLogger()
  const config = defineConfig({ app: { port: 0 }, plugins: [database(), kv(), jwt(), bulletproof(), login(), sessions()] })
  const names = ['APP_KEY', 'JWT_SECRET', 'SESSION_SECRET', 'BULLETPROOF_SIGNING_SECRET']
  const env = plainEnv({ NODE_ENV: 'production', APP_NAME: 'shop', ...Object.fromEntries(names.map((name) => [name, 'short'])) })
  const host = new Host(config, { rootDir: tmpdir(), env, log })
  await assert.rejects(host.start({ listen: false }), (error: Error) => {
    for (const name of names) assert.match(error.message, new RegExp(`${name}\\b.* 5 bytes`))
    return true
  })
  assert.doesNotMatch(log.text(), /neither|not set|generated|only until/)
})
