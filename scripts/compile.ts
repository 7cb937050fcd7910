// Compiles the sources and tests to JavaScript before a test run. Loading TypeScript with tsx takes seconds in each process, and a run
// starts more than a hundred processes.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'

/** A copy of the tree with a `.js` file for each `.ts` file. */
export interface Compiled {
  readonly folder: string
  /** Replaces the places of compiled code in a text, such as a stack, by those of its source. */
  original(text: string): string
  remove(): void
}

/** Inside the repository, so that packages resolve as they do from the sources. */
const parent = resolve('.zin')

const options: BuildOptions = {
  outbase: '.',
  format: 'esm',
  target: 'node20',
  platform: 'node',
  // Not for Node, which would parse the map of each file that it loads, and map each stack: see `original`.
  sourcemap: 'external',
  sourcesContent: false,
  logLevel: 'error',
}

export async function compile(): Promise<Compiled> {
  mkdirSync(parent, { recursive: true })
  const folder = mkdtempSync(join(parent, 'tests-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const files = ['core', 'plugins', 'scripts'].flatMap(sources)
    const tests = { entryPoints: files.filter(isTest), define: ownPlace, plugins: [withOwnPlace] }
    const code = { entryPoints: files.filter((file) => !isTest(file)) }
    await Promise.all([tests, code].map((own) => build({ ...options, ...own, outdir: folder })))
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest()))
    cpSync('scripts', join(folder, 'scripts'), { recursive: true, filter: (file) => !file.endsWith('.ts') })
    for (const name of ['dist', 'examples']) symlinkSync(resolve(name), join(folder, name), 'junction')
    return { folder, original: (text) => original(text, folder), remove }
  } catch (error) {
    remove()
    throw error
  }
}

function original(text: string, folder: string): string {
  const places = /(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g
  return text.replaceAll(places, (place: string, file: string, line: string, column: string) => {
    if (!file.startsWith(`${folder}/`) || !existsSync(`${file}.map`)) return place
    const map = new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1)
    if (!('originalSource' in entry)) return place
    return `${resolve(dirname(file), entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  })
}

function sources(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.d)\.tsx?$/.test(name))
    .map((name) => join(folder, name))
}

const isTest = (file: string): boolean => /\.(test|contract)\.ts$|^scripts[\\/]|[\\/]testing[\\/]/.test(file)

/** A package.json whose exports correspond to `paths` in tsconfig.json. */
function manifest(): object {
  const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'))
  const { name, version } = read('package.json') as { readonly name: string; readonly version: string }
  const { paths } = read('tsconfig.json').compilerOptions as { readonly paths: Readonly<Record<string, readonly [string]>> }
  const exports = Object.entries(paths).map(([path, [file]]) => [path.replace(name, '.'), file.replace(/\.ts$/, '.js')])
  return { name, version, type: 'module', exports: Object.fromEntries(exports) }
}

const ownPlace = { 'import.meta.url': '__url', 'import.meta.filename': '__file', 'import.meta.dirname': '__folder' }

/** Makes `import.meta` of tests refer to their source, because they use files next to it. The code under test keeps its compiled location. */
const withOwnPlace: Plugin = {
  name: 'own-place',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const [url, file, folder] = [pathToFileURL(path).href, path, dirname(path)].map((value) => JSON.stringify(value))
      // On the first line, so that line numbers do not change.
      return { contents: `const __url = ${url}, __file = ${file}, __folder = ${folder}; ${readFileSync(path, 'utf8')}`, loader: 'ts' }
    })
  },
}
