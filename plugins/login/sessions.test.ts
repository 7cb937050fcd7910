import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { describeSessions } from './testing/sessions.contract.js'

describeSessions('memory', () => ({ plugins: () => [], stores: 'memory' }))
describeSessions('a kv table', () => ({ plugins: () => [database(), kv()], stores: 'kv' }))
describeSessions('tables', () => ({ plugins: () => [database()], stores: 'db' }))
describeSessions('tables and a kv beside them', () => ({ plugins: () => [database(), kv()], stores: 'auto' }))
