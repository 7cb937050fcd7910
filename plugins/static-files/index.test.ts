import { fileURLToPath } from 'node:url'
import { describePlugin } from 'zin/testing'
import { staticFiles } from './index.js'

describePlugin(() => [], staticFiles, {
  readme: new URL('./README.md', import.meta.url),
  options: { root: fileURLToPath(new URL('.', import.meta.url)) },
})
