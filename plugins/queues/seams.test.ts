import { queues } from './index.js'
import { seamsContract } from './seams.contract.js'

seamsContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
