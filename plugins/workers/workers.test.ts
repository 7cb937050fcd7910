import { declareContract } from './declare.contract.js'
import { nodesContract } from './nodes.contract.js'
import { pauseContract } from './pause.contract.js'
import { placesContract } from './places.contract.js'
import { rebootContract } from './reboot.contract.js'
import { recreateContract } from './recreate.contract.js'
import { rolloutContract } from './rollout.contract.js'
import { sequencesContract } from './sequences.contract.js'
import { shutdownContract } from './shutdown.contract.js'
import { workersContract } from './workers.contract.js'

workersContract('the embedded store', {})
rebootContract('the embedded store', { env: {}, drivers: ['db'] })
rolloutContract('the embedded store', { env: {}, drivers: ['db'] })
declareContract('the embedded store', { WORKER_PERSISTENCE_DRIVER: 'db' })
pauseContract('the embedded store', {})
recreateContract('the embedded store', {})
shutdownContract('the embedded store', {})
sequencesContract('the embedded store', {})
nodesContract('the embedded store', {})
placesContract('the embedded stores', {}, false)
