import { workerHealthContract } from './worker-health.contract.js'

workerHealthContract('the embedded stores', {})
