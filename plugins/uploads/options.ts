import { defineOptions, type OptionsOf, Type } from 'zin'

export type UploadsOptions = OptionsOf<typeof uploadsOptions>

export const uploadsOptions = defineOptions(
  Type.Object({
    maxFileSize: Type.Integer({
      minimum: 1,
      default: 10_485_760,
      description: 'Size of a file in bytes. Protects the disk; a larger one gets 413. A field of a route can set `maxSize`',
    }),
    maxFiles: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'Files of one form. Protects the disk and file handles; more get 413',
    }),
    types: Type.Array(Type.String({ pattern: '^[a-z]+/(\\*|[a-z0-9.+-]+)$' }), {
      default: [],
      description:
        'Media types of files, by their content: `image/png`, `image/*`. Empty for any. Protects from files that are not what their name says; others get 415. A field of a route can set `types`',
    }),
    maxFieldBytes: Type.Integer({
      minimum: 1,
      default: 1_048_576,
      description: 'Size of all fields of a form that are not files, in bytes. Protects memory; more get 413',
    }),
    maxUploads: Type.Integer({
      minimum: 1,
      default: 500,
      description: 'Forms that arrive at once in this process. Protects memory and file handles; more get 503',
    }),
    idleMs: Type.Integer({
      minimum: 10,
      maximum: 120_000,
      default: 15_000,
      description: 'How long a client may send nothing, in ms. Protects from clients that stop; they get 408',
    }),
    deadlineMs: Type.Integer({
      minimum: 10,
      maximum: 120_000,
      default: 110_000,
      description:
        'How long a form may take to arrive, in ms. Protects from clients that trickle; they get 408. The server ends any request after 120 s',
    }),
    folder: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'Folder in which the temporary folder of this process is created. Default: that of the system. On the disk of the final place, `moveTo` copies nothing',
      }),
    ),
  }),
)
