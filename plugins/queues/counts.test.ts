import { countsContract } from './counts.contract.js'
import { queues } from './index.js'

countsContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
