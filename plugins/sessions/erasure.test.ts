import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { erasureContract } from './erasure.contract.js'

erasureContract('the embedded stores', () => ({ plugins: [database(), kv()] }))
