// An app in a separate process: sends its URL over IPC, and stops on the message `stop`.
import { definePlugin, Type } from 'zin'
import { cluster } from 'zin/plugins/cluster'
import { database } from 'zin/plugins/database'
import { jwt, tokensService } from 'zin/plugins/jwt'
import { kv } from 'zin/plugins/kv'
import { createTestHost } from 'zin/testing'
import { serveParent } from '../../../scripts/testing/forked-app.js'
import { websocket, websocketService } from '../index.js'

const { APP_ENV = '{}', APP_ROOT = '' } = process.env
const env = JSON.parse(APP_ENV) as Record<string, string>
const chat = definePlugin({
  name: 'chat',
  version: '1.0.0',
  uses: { sockets: websocketService, tokens: tokensService },
  setup({ services, socket, route, hooks }) {
    const stopping = new Promise<void>((resolve) => hooks.on('onClose', () => resolve()))
    socket({
      path: '/rooms/:room',
      message: Type.Object({ text: Type.String() }),
      onOpen: (client) => {
        client.join(client.params.room)
        client.send({ joined: client.params.room })
      },
      handler: async (client, { text }) => {
        // A handler that is still running when the app stops.
        if (text === 'last') {
          client.send({ waiting: true })
          await stopping
        }
        await services.sockets.publish(client.params.room, { text, pid: process.pid })
      },
    })
    socket({ path: '/mine', use: ['auth'], onOpen: (client) => void client.send('hello'), handler: (client) => void client.send('here') })
    route({
      method: 'POST',
      path: '/token/:sub',
      summary: 'A token',
      handler: async ({ input }) => ({ token: (await services.tokens.issue({ sub: input.params.sub })).token }),
    })
    route({
      method: 'POST',
      path: '/log-out/:sub',
      summary: 'Ends all tokens',
      handler: async ({ input }) => {
        await services.tokens.revokeUser(input.params.sub)
        return { done: true }
      },
    })
    route({ method: 'GET', path: '/size', summary: 'Open connections', handler: () => ({ size: services.sockets.size }) })
  },
})
const host = await createTestHost({
  plugins: [...(env.REDIS_URL === undefined ? [database()] : []), kv(), cluster(), jwt(), websocket({ pingMs: 3_600_000 }), chat()],
  env,
  rootDir: APP_ROOT,
  listen: true,
})
serveParent(host)
