import { Type } from 'zin'

const anything = Type.Optional(Type.Unknown())
const oneOf = (...values: readonly string[]) => Type.Enum([...values], { type: 'string' })

/** Resembles what Zin's own children send while they run a processor. */
const ofSandbox = Type.Object({
  type: oneOf('ready', 'done', 'failed', 'call', 'fatal', 'unloadable', 'output', '__proto__'),
  run: Type.Optional(Type.Integer({ minimum: -1, maximum: 9 })),
  call: Type.Optional(Type.Integer({ minimum: -1, maximum: 9 })),
  method: Type.Optional(oneOf('log', 'updateProgress', 'constructor', '__proto__')),
  args: anything,
  json: anything,
  error: anything,
  why: anything,
})

/** Resembles what Zin's own children send while they run a service. */
const ofService = Type.Object({
  zinService: Type.Object({
    type: oneOf('ready', 'nonce', 'log', '__proto__'),
    id: anything,
    claim: anything,
    level: Type.Optional(oneOf('info', 'silent', 'constructor', '__proto__')),
    facts: anything,
    message: anything,
  }),
})

/** What the fuzzer generates for a message between processes; any other JSON is accepted as well. */
export const messages = { sandbox: ofSandbox, service: ofService }
