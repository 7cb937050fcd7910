import { migrationsContract } from './migrations.contract.js'

migrationsContract('SQLite', {})
