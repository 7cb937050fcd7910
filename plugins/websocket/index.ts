import type { WebSocketServer } from 'ws'
import { definePlugin, importPackage, type MetricSample, optional } from 'zin'
import { clusterService } from 'zin/plugins/cluster'
import { websocketService } from './contract.js'
import { declareSocket } from './declare.js'
import { endedAccess, receiveEndedAccess } from './ended-access.js'
import { websocketErrors } from './errors.js'
import { originProblem } from './handshake.js'
import { websocketOptions } from './options.js'
import { createSockets, receivePublished } from './publish.js'
import { SocketServer } from './server.js'

export type { ClientSocket, SocketEnd, SocketOf, SocketSpec, Sockets } from './contract.js'
export { websocketService } from './contract.js'
export type { WebsocketOptions } from './options.js'

/** WebSockets: `ctx.socket` registers one with guards, typed messages and limits; topics reach the clients of all processes. */
export const websocket = definePlugin({
  name: 'websocket',
  version: '1.0.0',
  description: 'WebSockets with guards, typed messages, limits, and topics over all processes',
  uses: { cluster: optional(clusterService) },
  provides: [websocketService],
  methods: { socket: 'Registers a WebSocket' },
  packages: { ws: {} },
  errors: websocketErrors,
  options: websocketOptions,
  async setup(ctx) {
    const { options, services, host, clock, log } = ctx
    let Server: (new (options: object) => WebSocketServer) | undefined
    const open = (given: object): WebSocketServer => {
      if (Server === undefined) throw new Error('the package ws is not loaded')
      return new Server(given)
    }
    const server = new SocketServer({ options, open, clock, log, production: host.app.production })
    const endMs = (): number => Math.min(options.drainMs, host.shutdownLeftMs / 4)
    ctx.addMethod('socket', (user) => (spec) => declareSocket(user, spec, server, endMs))
    ctx.provide(
      websocketService,
      createSockets(server, () => services.cluster, !host.app.production),
    )
    ctx.onCheck(() => {
      for (const origin of options.origins) {
        const problem = originProblem(origin)
        if (problem !== undefined) throw websocketErrors.SOCKET_INVALID('websocket', undefined, problem)
      }
    })
    ctx.hooks.on('collectMetrics', () => metricsOf(server))
    ctx.hooks.on('onAccessEnded', endedAccess({ server, cluster: () => services.cluster, log }))
    ctx.hooks.on('onClose', () => server.close(endMs()))
    ctx.onReady(() => {
      const { cluster } = services
      if (cluster === undefined) return
      ctx.onStop(receivePublished(server, cluster))
      ctx.onStop(receiveEndedAccess(server, cluster))
    })
    ctx.onStop(() => server.close(endMs()))
    // Last: plugins of the same level that call `ctx.socket` are set up meanwhile.
    Server = (await importPackage('ws', () => import('ws'))).WebSocketServer as never
  },
})

function metricsOf({ size, messages }: SocketServer): readonly MetricSample[] {
  const name = 'zin_websocket_messages_total'
  const help = 'Messages of this process by direction'
  return [
    { name: 'zin_websocket_connections', help: 'Open connections of this process', type: 'gauge', value: size },
    { name, help, type: 'counter', value: messages.in, labels: { direction: 'in' } },
    { name, help, type: 'counter', value: messages.out, labels: { direction: 'out' } },
  ]
}
