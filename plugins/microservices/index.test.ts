import { describePlugin } from 'zin/testing'
import { microservices } from './index.js'
import { foundations } from './testing/services-app.js'

describePlugin(foundations, microservices, { readme: new URL('./README.md', import.meta.url) })
