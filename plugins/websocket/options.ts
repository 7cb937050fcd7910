import { defineOptions, type OptionsOf, Type } from 'zin'

export type WebsocketOptions = OptionsOf<typeof websocketOptions>

export const websocketOptions = defineOptions(
  Type.Object({
    origins: Type.Array(Type.String({ minLength: 1 }), {
      default: [],
      description:
        'Origins of pages that may connect, such as `https://shop.example.com`, beside those of the app itself; `*` for any. Protects from other sites that connect with the cookies of a visitor',
    }),
    maxConnections: Type.Integer({
      minimum: 1,
      default: 1000,
      description: 'Connections of this process. Protects its memory; more get 503',
    }),
    maxPerClient: Type.Integer({
      minimum: 1,
      default: 32,
      description: 'Connections of one user, or of one address without a user. Protects the places of the others; more get 429',
    }),
    maxMessageBytes: Type.Integer({
      minimum: 1,
      maximum: 104_857_600,
      default: 65_536,
      description: 'Size of a message from a client, in bytes, also after decompression. Protects memory; a larger one ends the connection',
    }),
    messagesPerSecond: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 50,
      description: 'Messages from one connection per second. Protects the processor; more end the connection',
    }),
    maxBufferedBytes: Type.Integer({
      minimum: 1024,
      default: 1_048_576,
      description: 'Bytes sent to a client that it has not read. Protects memory; a slower reader loses its connection',
    }),
    maxTopics: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 100,
      description: 'Topics that one connection may join. Protects memory',
    }),
    handlerMs: Type.Integer({
      minimum: 1,
      maximum: 3_600_000,
      default: 30_000,
      description: 'How long a handler may take for one message, in ms. Protects from one that never ends; then the connection ends',
    }),
    pingMs: Type.Integer({
      minimum: 100,
      maximum: 3_600_000,
      default: 30_000,
      description:
        'Interval of pings in ms, at which access is checked again. Protects from clients that left without a word: one that has not responded to a ping at the next one loses its connection',
    }),
    drainMs: Type.Integer({
      minimum: 0,
      maximum: 600_000,
      default: 5_000,
      description:
        'How long shutdown waits for running handlers and for clients to close, in ms; at most a quarter of the time of the shutdown',
    }),
    perMessageDeflate: Type.Boolean({
      default: false,
      description: 'Whether messages may be compressed. Costs about 300 KB and processor time per connection',
    }),
  }),
)
