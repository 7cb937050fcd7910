import { describePlugin } from 'zin/testing'
import { edgeProxy } from './index.js'

const env = { EDGE_REMOTE_SECRET: 'a-secret-of-the-edge-proxy-with-40-bytes', EDGE_REMOTE_MODE: 'sql' }

describePlugin(() => [], edgeProxy, { env, readme: new URL('./README.md', import.meta.url) })
