import { flowsContract } from './flows.contract.js'
import { queues } from './index.js'

flowsContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
