import { rebootContract } from './reboot.contract.js'
import { workersContract } from './workers.contract.js'

workersContract('the embedded store', {})
rebootContract('the embedded store', { env: {}, drivers: ['db'] })
