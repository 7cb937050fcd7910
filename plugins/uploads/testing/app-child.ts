// An app in a separate process: sends its URL over IPC, and stops on the message `stop`. Its uploads are in the folder APP_ROOT.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { definePlugin } from 'zin'
import { health } from 'zin/plugins/health'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { uploads } from '../index.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
const receiver = definePlugin({
  name: 'receiver',
  version: '1.0.0',
  setup({ route }) {
    route({
      method: 'POST',
      path: '/form',
      summary: 'An upload',
      bodyType: 'form',
      handler: ({ request: { files } }) => ({ received: Object.keys(files).length }),
    })
    route({
      method: 'GET',
      path: '/memory',
      summary: 'Memory in use',
      handler: () => {
        collect()
        const { heapUsed, external } = process.memoryUsage()
        return { bytes: heapUsed + external }
      },
    })
  },
})
const host = await createTestHost({ plugins: [health(), uploads({ folder: process.env.APP_ROOT ?? '' }), receiver()], listen: true })
serveParent(host)
