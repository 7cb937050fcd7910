import { flowRecoveryContract } from './flow-recovery.contract.js'
import { flowsContract } from './flows.contract.js'
import { queues } from './index.js'

for (const contract of [flowsContract, flowRecoveryContract])
  contract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
