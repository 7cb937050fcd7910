import { workerJobOptionsContract } from './job-options.contract.js'

workerJobOptionsContract('the embedded store', { env: { QUEUE_FSYNC: 'off' } })
