import { modelContract } from './model.contract.js'

modelContract('the embedded stores', 1, () => ({}))
