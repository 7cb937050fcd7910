import { resourcesContract } from './resources.contract.js'

resourcesContract('the embedded stores', {}, 1)
