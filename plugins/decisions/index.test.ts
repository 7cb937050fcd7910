import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { kv } from 'zin/plugins/kv'
import { ops } from 'zin/plugins/ops'
import { describePlugin } from 'zin/testing'
import { decisions } from './index.js'

describePlugin(() => [database(), kv(), cluster(), ops()], decisions, { readme: new URL('./README.md', import.meta.url) })
