// One process of an app with a signed route, of the built package. It receives its plugins and environment, sends its port to its parent, and
// serves until it is terminated; for tests in which a real process must end, or two must share a store.
import { join } from 'node:path'
import { bulletproof } from 'zin/plugins/bulletproof'
import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'

const { rootDir, plugins, prefix, env } = JSON.parse(process.argv[2] ?? '{}')
const optional = { database: () => database(), kv: () => kv({ prefix }) }
const host = await createTestHost({
  rootDir,
  dataDir: join(rootDir, '.zin', 'data'),
  listen: true,
  env: { HOST: '127.0.0.1', ...env },
  plugins: [...plugins.map((name) => optional[name]()), jwt(), bulletproof()],
  routes: [{ method: 'GET', path: '/api/me', summary: 'Me', use: ['auth', 'bulletproof'], handler: () => ({}) }],
})
process.on('disconnect', () => process.exit())
process.send?.(host.url)
