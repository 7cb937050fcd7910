// An app in a separate process: sends its URL over IPC, and stops on the message `stop`.
import { join } from 'node:path'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { workers } from '../index.js'

const { APP_ENV = '{}', APP_ROOT = '', APP_ROLES = 'http,worker' } = process.env
const host = await createTestHost({
  plugins: [database(), kv(), cluster(), queues(), ops(), workers({ jobLockMs: 2000 })],
  env: JSON.parse(APP_ENV) as Record<string, string>,
  rootDir: APP_ROOT,
  // Processes that share a root without servers share its data.
  ...(APP_ENV.includes('REDIS_URL') ? {} : { dataDir: join(APP_ROOT, 'data') }),
  roles: APP_ROLES.split(',') as ('http' | 'worker')[],
  listen: true,
})
serveParent(host)
