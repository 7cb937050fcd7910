import { workersContract } from './workers.contract.js'

workersContract('the embedded store', { env: {}, drivers: ['db'] })
