import { queues } from './index.js'
import { schedulesContract } from './schedules.contract.js'

schedulesContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
