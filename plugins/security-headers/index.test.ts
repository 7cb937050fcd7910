import { describePlugin } from 'zin/testing'
import { securityHeaders } from './index.js'

describePlugin(() => [], securityHeaders, { readme: new URL('./README.md', import.meta.url) })
