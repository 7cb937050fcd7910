import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { decisions } from 'zin/plugins/decisions'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queues } from 'zin/plugins/queues'
import { workers } from 'zin/plugins/workers'
import { describePlugin } from 'zin/testing'
import { breaker } from './index.js'

describePlugin(() => [database(), kv(), cluster(), queues(), ops(), workers(), decisions()], breaker, {
  readme: new URL('./README.md', import.meta.url),
})
