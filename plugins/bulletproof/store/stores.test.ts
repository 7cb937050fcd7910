import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { withStores } from '../testing/stores.js'
import { describeStores } from './stores.contract.js'

describeStores('memory', (test) => withStores({ driver: 'memory', plugins: () => [] }, test))
describeStores('kv on SQLite', (test) => withStores({ driver: 'kv', plugins: () => [database(), kv()] }, test))
describeStores('tables beside a kv', (test) => withStores({ driver: 'db', besideKv: true, plugins: () => [database(), kv()] }, test))
describeStores('tables on SQLite', (test) => withStores({ driver: 'db', plugins: () => [database()] }, test))
