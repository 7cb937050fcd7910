import { tracesContract } from './traces.contract.js'

tracesContract('the embedded store', () => ({}))
