// An app with circuit breakers in a separate process; stops on an IPC message.
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workerHealth } from 'zin/plugins/worker-health'
import { workers } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { breaker } from '../index.js'

const { APP_ENV = '{}', APP_ROOT = '' } = process.env
const host = await createTestHost({
  plugins: [database(), kv(), cluster(), queues(), ops(), workers(), workerHealth(), decisions(), breaker()],
  env: JSON.parse(APP_ENV) as Record<string, string>,
  rootDir: APP_ROOT,
  listen: true,
})
serveParent(host)
