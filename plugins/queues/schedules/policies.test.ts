import { queues } from '../index.js'
import { policiesContract } from './policies.contract.js'

policiesContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
