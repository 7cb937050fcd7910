// The layout of a plugin: the same file names in every plugin.

/** A file of the tree. */
export interface SourceFile {
  /** From the root of the tree, with slashes. */
  readonly path: string
  readonly text: string
}

/** Kinds of declarations, the code that contains them, and the files they belong in. */
const places: readonly { readonly what: string; readonly code: RegExp; readonly file: RegExp; readonly name: string }[] = [
  { what: 'the plugin', code: /\bdefinePlugin\(/, file: /\/index\.ts$/, name: 'index.ts' },
  { what: 'a service ref', code: /\bdefineService[(<]/, file: /\/contract\.ts$/, name: 'contract.ts' },
  { what: 'options', code: /\bdefineOptions\(/, file: /\/options\.ts$/, name: 'options.ts' },
  { what: 'settings', code: /\bdefineSettings\(/, file: /\/settings\.ts$/, name: 'settings.ts' },
  { what: 'errors', code: /\bdefineErrors\(|\bnew ZinError\(\s*'/, file: /\/errors\.ts$/, name: 'errors.ts' },
  { what: 'hooks', code: /\bsatisfies HookSpecs\b/, file: /\/hooks\.ts$/, name: 'hooks.ts' },
  { what: 'commands', code: /\bdefineCommand\(/, file: /\/cli\.ts$/, name: 'cli.ts' },
  { what: 'routes', code: /\bdefineRoute\(/, file: /\/routes\.ts$|\/routes\/[^/]+\.ts$/, name: 'routes.ts' },
  {
    what: 'a migration',
    code: /(?<!function )\bdefineMigration\(/,
    file: /\/migrations\/\d{4}-[a-z0-9]+(-[a-z0-9]+)+\.ts$/,
    name: 'migrations/NNNN-verb-noun.ts',
  },
]

/** File names that are not used, and those used instead. */
const names: readonly { readonly wrong: RegExp; readonly right: string }[] = [
  { wrong: /^types\.ts$/, right: 'contract.ts, or a noun for its content' },
  { wrong: /^store\/store\.ts$/, right: 'store/contract.ts' },
  { wrong: /^store\/database\.ts$/, right: 'store/db.ts' },
  { wrong: /^migrations\/(?!\d{4}-[a-z0-9]+(-[a-z0-9]+)+\.ts$)/, right: 'migrations/NNNN-verb-noun.ts' },
]

/** Folders that do not have this layout yet. */
const later: readonly string[] = []

/** Returns the problems of files with misplaced declarations or wrong names. */
export function shapeProblems(files: readonly SourceFile[]): readonly string[] {
  const folders = files
    .filter(({ path }) => /^(plugins|examples\/[^/]+)\/[^/]+\/index\.ts$/.test(path))
    .map(({ path }) => path.slice(0, -8))
  return files
    .filter(({ path }) => isCode(path) && !later.some((folder) => path.startsWith(folder)))
    .flatMap((file) => {
      const folder = folders.find((start) => file.path.startsWith(start))
      if (folder !== undefined) return problemsOf(file, folder)
      return file.path.startsWith('core/') ? coreProblems(file) : []
    })
}

function isCode(path: string): boolean {
  return path.endsWith('.ts') && !/\.(test|contract)\.ts$|\/(testing|dist|node_modules)\//.test(path)
}

function problemsOf({ path, text }: SourceFile, folder: string): readonly string[] {
  const code = declarationsIn(text)
  const misplaced = places.filter((place) => place.code.test(code) && !place.file.test(path))
  const misnamed = names.filter(({ wrong }) => wrong.test(path.slice(folder.length)))
  return [
    ...misplaced.map(({ what, name }) => `${path} declares ${what}; move the declaration to ${name}`),
    ...misnamed.map(({ right }) => `rename ${path} to ${right}, as in every plugin`),
  ]
}

/** The errors of the core must be in errors.ts, too. */
function coreProblems({ path, text }: SourceFile): readonly string[] {
  const { code, file } = places.find(({ name }) => name === 'errors.ts') as (typeof places)[number]
  return code.test(declarationsIn(text)) && !file.test(path) ? [`${path} declares errors; move the declaration to errors.ts`] : []
}

/** The code without comments and string contents. */
function declarationsIn(text: string): string {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  return code.replace(/`(?:[^`\\]|\\.)*`/gs, '``').replace(/'(?:[^'\\\n]|\\.)*'/g, "''")
}
