// An app that moves workers out of lost regions, in a separate process; stops on an IPC message.
import { cluster } from 'zin/plugins/cluster'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { autoscale } from '../index.js'

const { APP_ENV = '{}', APP_ROOT = '' } = process.env
const env = JSON.parse(APP_ENV) as Record<string, string>
const processors = { emails: () => env.WORKER_REGION }
const host = await createTestHost({
  plugins: [kv(), cluster(), queues(), ops(), decisions(), workers({ processors }), autoscale({ failoverSeconds: 0, returnSeconds: 0 })],
  env,
  rootDir: APP_ROOT,
  listen: true,
})
serveParent(host)
