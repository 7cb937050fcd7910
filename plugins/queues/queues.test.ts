import { describePlugin } from 'zin/testing'
import { queues } from './index.js'
import { queuesContract } from './queues.contract.js'

queuesContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))

describePlugin(() => [], queues, { readme: new URL('./README.md', import.meta.url), env: { QUEUE_FSYNC: 'off' } })
