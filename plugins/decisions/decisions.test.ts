import { decisionsContract } from './decisions.contract.js'

decisionsContract('SQLite', {}, false)
