import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'esbuild'

/**
 * Packages that go into `dist` with what they need: JavaScript that an app does not share with Zin, or that costs the boot much as many small
 * files. An app may have a second copy: what they make are plain objects, or objects that bring their own code.
 */
export const bundled = [
  '@clack/prompts',
  '@koa/router',
  'ajv',
  'ajv-formats',
  'cac',
  'fast-json-stringify',
  'fast-string-width',
  'ipaddr.js',
  'jsonwebtoken',
  'koa-body',
  'kysely',
  'lru-cache',
  'pg-protocol',
  'pg-types',
  'pino',
  'semver',
  'typebox',
]

const builtins = new RegExp(`^(node:)?(${builtinModules.join('|')})$`)
const required = new RegExp(`createRequire\\(import\\.meta\\.url\\)\\((?='(${bundled.join('|')})'\\))`, 'g')

/** Bundles CommonJS into modules, which have no `require`. */
export const commonJs: Plugin = {
  name: 'common-js',
  setup(build) {
    build.onResolve({ filter: builtins }, ({ kind, path }) => (kind === 'require-call' ? { path, namespace: 'builtin' } : undefined))
    build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }))
    // Loads a bundled package at that moment, as the sources do.
    build.onLoad({ filter: /[\\/](core|plugins)[\\/].*\.ts$/ }, ({ path }) => {
      const source = readFileSync(path, 'utf8')
      const contents = source.replace(required, 'require(')
      return contents === source ? undefined : { contents, loader: 'ts' }
    })
  },
}

/** Copies the licences of all packages that are inside the built files. */
export function copyLicences(inputs: Iterable<string>, target: string): void {
  mkdirSync(target, { recursive: true })
  const folders = new Set([...inputs].map(folderOf).filter((folder) => folder !== undefined))
  for (const folder of folders) {
    const { license, name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, string>
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    const copy = join(target, `${name?.replace('/', '-')}.txt`)
    if (file === undefined) writeFileSync(copy, `${name}@${version}: ${license}\n`)
    else copyFileSync(join(folder, file), copy)
  }
}

/** The folder of the package that a file belongs to; undefined for a file of Zin. */
function folderOf(file: string): string | undefined {
  if (!file.includes('node_modules')) return undefined
  for (let folder = dirname(file); folder !== '.'; folder = dirname(folder)) {
    if (/node_modules\/(@[^/]+\/)?[^/]+$/.test(folder) && existsSync(join(folder, 'package.json'))) return folder
  }
  return undefined
}
