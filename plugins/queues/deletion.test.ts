import { deletionContract } from './deletion.contract.js'
import { queues } from './index.js'

deletionContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
