import { queues } from '../index.js'
import { policiesContract } from './policies.contract.js'
import { replacingContract } from './replacing.contract.js'

for (const contract of [policiesContract, replacingContract])
  contract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
