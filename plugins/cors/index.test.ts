import { describePlugin } from 'zin/testing'
import { cors } from './index.js'

describePlugin(() => [], cors, { readme: new URL('./README.md', import.meta.url) })
