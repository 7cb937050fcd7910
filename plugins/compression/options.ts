import { defineOptions, type OptionsOf, Type } from 'zin'

export type CompressionOptions = OptionsOf<typeof compressionOptions>

export const codings = ['br', 'gzip', 'deflate'] as const

export type Coding = (typeof codings)[number]

const coding = Type.Union([Type.Literal('br'), Type.Literal('gzip'), Type.Literal('deflate')])

export const compressionOptions = defineOptions(
  Type.Object({
    encodings: Type.Array(coding, {
      default: [...codings],
      minItems: 1,
      uniqueItems: true,
      description: 'Content codings of responses; the first one that a client accepts equally is used',
    }),
    minBytes: Type.Integer({
      minimum: 0,
      maximum: 1_048_576,
      default: 1024,
      description:
        'Smaller responses are sent as they are, in bytes: compressing them costs more than it saves. Streams are always compressed',
    }),
    requestBodies: Type.Boolean({
      default: true,
      description:
        'Whether bodies of requests may be compressed. What they contain may be as large as an uncompressed body: `bodyLimit` of the route, otherwise 413',
    }),
  }),
)
