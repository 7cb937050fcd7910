import { apiContract } from './api.contract.js'

apiContract('memory', { env: {} })
