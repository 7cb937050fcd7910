// A process of the built package that runs management actions until it is killed, and reports each acknowledged one.
import { definePlugin } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { compliance } from 'zin/plugins/compliance'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { createTestHost, fake } from 'zin/testing'

const { APP_ENV = '{}', APP_ROOT = '', ROUND = '' } = process.env
let manage
const desk = definePlugin({
  name: 'desk',
  version: '1.0.0',
  setup: (ctx) => {
    manage = ctx.manage
  },
})
// The embedded queue allows only one process at a time; the audit log does not need it.
const services = [fake(queuesService, { names: async () => [] })]
const plugins = [database(), kv(), cluster(), ops(), desk(), compliance()]
await createTestHost({ plugins, services, env: JSON.parse(APP_ENV), rootDir: APP_ROOT, dataDir: APP_ROOT })
for (let number = 0; ; number++) {
  const targets = [0, 1, 2].map((part) => `desk:${ROUND}-${number}-${part}`)
  await Promise.all(targets.map((target) => manage({ action: 'desk.sort', target }, async () => undefined)))
  process.send(targets)
}
