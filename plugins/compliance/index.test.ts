import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { describePlugin } from 'zin/testing'
import { compliance } from './index.js'

describePlugin(() => [database(), kv(), cluster(), queues(), ops(), workers()], compliance, {
  readme: new URL('./README.md', import.meta.url),
})
