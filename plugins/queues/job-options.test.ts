import { deduplicationContract } from './deduplication.contract.js'
import { queues } from './index.js'
import { jobOptionsContract } from './job-options.contract.js'
import { logsContract } from './logs.contract.js'

for (const contract of [jobOptionsContract, deduplicationContract, logsContract])
  contract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
