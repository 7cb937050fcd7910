import { defineOptions, type OptionsOf, Type } from 'zin'

export type StaticFilesOptions = OptionsOf<typeof staticFilesOptions>

const root = (description: string) => Type.String({ minLength: 1, description })

/** Options of one folder. */
const folder = {
  prefix: Type.String({
    pattern: '^/([\\w.~@-]+/?)*$',
    default: '/',
    description: 'Path under which the files are served, such as `/assets`. Routes of the app take precedence',
  }),
  spa: Type.Boolean({
    default: false,
    description:
      'Whether `index.html` of the folder answers paths without a file, for the router of a page. Not for paths with an extension, and only if `Accept` names HTML, as that of a browser that opens a page does: `fetch` of a path without a route gets 404',
  }),
  immutable: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'Beginnings of paths in the folder, such as `assets/`, whose files never change because their names contain a hash: browsers keep them for a year',
  }),
  maxAgeSeconds: Type.Integer({
    minimum: 0,
    maximum: 31_536_000,
    default: 0,
    description: 'How long browsers use other files without asking again, in seconds. They always ask for pages',
  }),
}

export const staticFilesOptions = defineOptions(
  Type.Object({
    root: Type.Optional(root('Folder with the files, relative to the folder of `zin.config.ts`')),
    ...folder,
    folders: Type.Array(Type.Object({ root: root('Folder'), ...partial(folder) }, { additionalProperties: false }), {
      default: [],
      description: 'Further folders, each with `root` and the options above',
      maxItems: 100,
    }),
  }),
)

/** One folder, with all its options. */
export type FolderOptions = Omit<StaticFilesOptions, 'root' | 'folders'> & { readonly root: string }

function partial(properties: typeof folder) {
  const { prefix, spa, immutable, maxAgeSeconds } = properties
  return {
    prefix: Type.Optional(prefix),
    spa: Type.Optional(spa),
    immutable: Type.Optional(immutable),
    maxAgeSeconds: Type.Optional(maxAgeSeconds),
  }
}

/** The folders that the options describe. */
export function foldersOf({ root: first, folders, ...defaults }: StaticFilesOptions): readonly FolderOptions[] {
  const { prefix, spa, immutable, maxAgeSeconds } = staticFilesOptions.defaults
  const further = folders.map((one) => ({ prefix, spa, immutable, maxAgeSeconds, ...one }))
  return first === undefined ? further : [{ ...defaults, root: first }, ...further]
}
