// An app with a limit in a separate process; stops on an IPC message.
import { kv } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { rateLimit } from '../index.js'
import { routes } from './app.js'

const { APP_ENV = '{}', APP_ROOT = '' } = process.env
const host = await createTestHost({
  plugins: [kv(), rateLimit({ limit: 20 }), routes()],
  env: JSON.parse(APP_ENV) as Record<string, string>,
  rootDir: APP_ROOT,
  listen: true,
})
serveParent(host)
