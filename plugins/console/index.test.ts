import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { queueMonitor } from 'zin/plugins/queue-monitor'
import { queues } from 'zin/plugins/queues'
import { describePlugin } from 'zin/testing'
import { webConsole } from './index.js'

describePlugin(() => [database(), kv(), cluster(), queues(), ops(), queueMonitor()], webConsole, {
  readme: new URL('./README.md', import.meta.url),
})
