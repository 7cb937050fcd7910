import { bulletproof } from 'zin/plugins/bulletproof'
import { jwt } from 'zin/plugins/jwt'
import { describePlugin } from 'zin/testing'
import { ops } from './index.js'

describePlugin(() => [jwt(), bulletproof()], ops, { readme: new URL('./README.md', import.meta.url) })
