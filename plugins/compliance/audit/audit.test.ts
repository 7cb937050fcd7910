import { auditContract } from './audit.contract.js'

auditContract('SQLite', () => ({}))
