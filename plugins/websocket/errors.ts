import { defineErrors, messageOf, type SchemaFault } from 'zin'

const placeOf = (path: string): string => (path === '' ? 'message' : path.startsWith('[') ? `message${path}` : `message.${path}`)

export const websocketErrors = defineErrors({
  SOCKET_UPGRADE_REQUIRED: {
    status: 426,
    stack: false,
    message: (path: string) => `${path} is a WebSocket; connect to it with a WebSocket client`,
    headers: { Upgrade: 'websocket', Connection: 'Upgrade' },
    when: 'A request to the path of a socket does not ask for `Upgrade: websocket`',
    fix: 'Connect with `new WebSocket(…)`; check that proxies in front pass `Upgrade` and `Connection` on',
  },
  SOCKET_HANDSHAKE_INVALID: {
    status: 400,
    stack: false,
    message: (why: string) => `The WebSocket handshake is invalid: ${why}`,
    headers: { 'Sec-WebSocket-Version': '13' },
    when: 'Key, version, subprotocols or extensions of the handshake are missing or malformed',
    fix: 'Use a WebSocket client of version 13 (RFC 6455)',
  },
  SOCKET_PROTOCOL_REFUSED: {
    status: 400,
    stack: false,
    message: (known: readonly string[]) =>
      `Offer one of the subprotocols that this socket speaks: ${known.join(', ')}. A token goes beside it: new WebSocket(url, ['${known[0]}', 'bearer.<token>'])`,
    when: 'The client offers subprotocols, and the socket speaks none of them; or several tokens',
    fix: 'Offer one that the message names, and at most one `bearer.<token>`',
  },
  SOCKET_ORIGIN_REFUSED: {
    status: 403,
    stack: false,
    message: () => 'Pages of this origin may not connect; see "origins" of the plugin websocket',
    when: 'A browser connects from a page of another origin that `origins` does not list (cross-site WebSocket hijacking)',
    fix: 'Add the origin of the page to `origins`',
  },
  TOO_MANY_SOCKETS: {
    status: 429,
    stack: false,
    message: (most: number) => `This client has reached the limit of ${most} open sockets; close one first`,
    when: 'A user, or an address without a user, has `maxPerClient` open sockets',
    fix: 'Close one first, or raise `maxPerClient`',
  },
  SOCKETS_EXHAUSTED: {
    status: 503,
    stack: false,
    message: (most: number) => `The limit of ${most} open sockets of this process has been reached; try again later`,
    headers: { 'Retry-After': '5' },
    when: 'The process has `maxConnections` open sockets',
    fix: 'Try again later; raise `maxConnections`, or add processes',
  },
  SOCKETS_CLOSED: {
    status: 503,
    stack: false,
    message: () => 'This process is shutting down; connect again',
    headers: { 'Retry-After': '1' },
    when: 'Shutdown has begun, or the plugin is being disabled',
    fix: 'Connect again: another process takes over',
  },
  SOCKET_MESSAGE_INVALID: {
    status: 400,
    stack: false,
    message: ([first]: readonly SchemaFault[]) => `${placeOf(first?.path ?? '')} ${first?.message ?? 'is invalid'}`,
    details: (problems: readonly SchemaFault[]) =>
      problems.map(({ path, keyword, message }) => ({
        field: placeOf(path),
        message,
        code: keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase(),
      })),
    when: 'As a message: one from the client does not match the schema of the socket (one that is not JSON gets `INVALID_JSON`)',
    fix: 'Correct the fields that `details` lists',
  },
  INTERNAL_ERROR: {
    status: 500,
    title: 'Internal server error',
    message: (cause: unknown) => messageOf(cause),
    cause: (cause: unknown) => cause,
    when: 'As a message: the handler failed with an unexpected error; it is logged',
    fix: 'Search the log for the id of the connection (`socket.id`)',
  },
  SOCKET_SENDS_ONLY: {
    status: 405,
    stack: false,
    message: (path: string) => `The socket ${path} takes no messages`,
    when: 'As a message, before close code 1003: a client sends something to a socket without a `handler`',
    fix: 'Send nothing to it; or add a `handler`',
  },
  SOCKET_TOO_FAST: {
    status: 429,
    stack: false,
    message: (most: number) => `This connection may send ${most} messages per second`,
    when: 'As a message, before close code 1008: the client sends more than `messagesPerSecond`',
    fix: 'Send fewer messages, or raise `messagesPerSecond`',
  },
  SOCKET_HANDLER_LATE: {
    status: 500,
    message: (path: string, ms: number) => `The handler of the socket ${path} took more than ${ms} ms for one message`,
    when: 'As a message, before close code 1011: a handler took longer than `handlerMs`',
    fix: 'Hand long work to a queue, or raise `handlerMs`',
  },
  SOCKET_INVALID: {
    message: (plugin: string, path: unknown, problem: string) => `${plugin}: ctx.socket({ path: ${JSON.stringify(path)} }) ${problem}`,
    when: 'At boot: a plugin declares an invalid socket',
    fix: 'Correct what the message names',
  },
  SOCKET_TOPIC_INVALID: {
    status: 500,
    message: (topic: unknown) => `The topic ${JSON.stringify(topic)?.slice(0, 60)} must be a text of 1 to 200 characters`,
    when: 'A plugin joins, leaves or publishes to a topic that is not a text of 1 to 200 characters',
    fix: 'Use a short text, such as `order:42`',
  },
  SOCKET_TOO_MANY_TOPICS: {
    status: 429,
    stack: false,
    message: (most: number) => `This connection has joined the limit of ${most} topics; leave one first`,
    when: 'A connection joins more than `maxTopics` topics',
    fix: 'Leave one first, or raise `maxTopics`',
  },
  SOCKET_PUBLISH_TOO_LARGE: {
    status: 500,
    message: (topic: string, bytes: number, most: number) =>
      `The message to the topic "${topic}" has ${bytes} bytes, and at most ${most} are passed on to other processes; publish a reference instead`,
    when: 'A published message has more than 262144 bytes',
    fix: 'Publish an id, from which clients load the data',
  },
})
