import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queuesService } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { describePlugin, fake } from 'zin/testing'
import { resources } from './index.js'

const noQueues = fake(queuesService, { backend: 'embedded', addCanceller: () => () => undefined })

describePlugin(() => [database(), kv(), cluster(), ops(), decisions(), workers()], resources, {
  services: [noQueues],
  readme: new URL('./README.md', import.meta.url),
})
