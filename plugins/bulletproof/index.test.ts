import { database } from 'zin/plugins/database'
import { jwt } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { describePlugin } from 'zin/testing'
import { bulletproof } from './index.js'

describePlugin(() => [database(), kv(), jwt()], bulletproof, {
  readme: new URL('./README.md', import.meta.url),
  env: { APP_KEY: 'app-key-0123456789abcdefghijklmnop', BULLETPROOF_SIGNING_SECRET: 'shared-0123456789abcdefghijklmnop' },
})
