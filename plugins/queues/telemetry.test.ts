import { queues } from './index.js'
import { telemetryContract } from './telemetry.contract.js'

telemetryContract('the embedded store', async () => ({ plugins: [queues()], env: { QUEUE_FSYNC: 'off' } }))
