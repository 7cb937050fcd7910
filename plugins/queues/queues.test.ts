import { describePlugin } from 'zin/testing'
import { queues } from './index.js'

describePlugin(() => [], queues, { readme: new URL('./README.md', import.meta.url), env: { QUEUE_FSYNC: 'off' } })
