import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { describeLoginEnds } from './testing/login-ends.contract.js'

describeLoginEnds('the embedded database', () => ({ plugins: () => [database(), kv()] }))
