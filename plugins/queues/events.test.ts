import { eventsContract } from './events.contract.js'
import { queues } from './index.js'

eventsContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
