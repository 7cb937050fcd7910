import { sharedIdsContract } from './shared-ids.contract.js'

sharedIdsContract('the embedded stores', {})
