import { breakerContract } from './breaker.contract.js'

breakerContract('the embedded stores', {}, 1)
