import type { PluginContext } from 'zin'
import type { AnySocketSpec } from './contract.js'
import { websocketErrors } from './errors.js'
import { adoptToken, defaultProtocol, originProblem } from './handshake.js'
import type { SocketServer } from './server.js'

const fields: ReadonlySet<string> = new Set([
  ...['path', 'summary', 'description', 'tag', 'use', 'params', 'query', 'message', 'sends', 'protocols', 'origins', 'maxMessageBytes'],
  ...['messagesPerSecond', 'onOpen', 'handler', 'onClose'],
])

const documentedCodes = {
  1000: 'The app or the client has ended the connection',
  1001: 'This process shuts down: connect again',
  1003: 'A message was binary, or the socket takes none',
  1007: 'A text was not UTF-8',
  1008: 'Access has ended, or the client sent too many messages; the reason is the code',
  1009: 'A message was too large',
  1011: 'The app failed',
}

/** Registers the socket of a plugin as a route of that plugin. Throws SOCKET_INVALID. */
export function declareSocket(user: PluginContext, spec: AnySocketSpec, server: SocketServer, endMs: () => number): void {
  const problem = problemOf(spec)
  if (problem !== undefined) throw websocketErrors.SOCKET_INVALID(user.plugin.name, spec?.path, problem)
  const { path, use, params, query, message, sends, description, tag, protocols = [defaultProtocol] } = spec
  user.route({
    method: 'GET',
    path: path as string,
    summary: spec.summary ?? `Messages at ${path}`,
    ...(description !== undefined && { description }),
    ...(tag !== undefined && { tag }),
    use,
    params,
    query,
    upgrade: {
      protocol: 'websocket',
      ...(message !== undefined && { message }),
      ...(sends !== undefined && { sends }),
      documented: { protocols, closeCodes: documentedCodes },
      prepare: (ctx) => adoptToken(ctx, protocols),
      accept: server.acceptor(spec, protocols),
    },
    handler: () => {
      throw websocketErrors.SOCKET_UPGRADE_REQUIRED(path)
    },
  })
  user.onStop(() => server.closeOf(spec, endMs()))
}

function problemOf(spec: unknown): string | undefined {
  if (typeof spec !== 'object' || spec === null) return 'needs an object with path and handler'
  const { path, handler, message, onOpen, onClose, protocols, origins, maxMessageBytes, messagesPerSecond } = spec as Partial<AnySocketSpec>
  const unknown = Object.keys(spec).find((field) => !fields.has(field))
  if (unknown !== undefined) return `has the unknown field "${unknown}"`
  if (typeof path !== 'string') return 'needs a path, such as "/rooms/:room"'
  if (handler === undefined && onOpen === undefined)
    return 'needs a handler: (socket, message) => …, or, if it only sends, an onOpen: (socket) => …'
  if (handler === undefined && message !== undefined) return 'needs a handler: (socket, message) => …, because it has a schema of messages'
  for (const [name, value] of Object.entries({ handler, onOpen, onClose }))
    if (value !== undefined && typeof value !== 'function') return `has an "${name}" that is not a function`
  for (const [name, value] of Object.entries({ maxMessageBytes, messagesPerSecond }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) return `has a "${name}" that is not an integer of at least 1`
  const isProtocol = (name: unknown): boolean => typeof name === 'string' && /^[\w.+-]{1,64}$/.test(name) && !name.startsWith('bearer.')
  if (protocols !== undefined && !(Array.isArray(protocols) && protocols.length > 0 && protocols.every(isProtocol)))
    return 'has "protocols" that are not a list of names of letters, digits, ".", "_", "+" and "-"'
  if (origins !== undefined && !(Array.isArray(origins) && origins.every((origin) => typeof origin === 'string')))
    return 'has "origins" that are not a list of texts'
  return origins?.map(originProblem).find((found) => found !== undefined)
}
