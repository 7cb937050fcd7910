// Checks that the packed package can be imported as declared in its `exports`, and contains no files that must not be published.
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { withTarball } from './pack.js'
import { declarationFiles, digestOf, repositoryFiles, unlessPassed } from './passed.js'

const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly default: string }>>
}
const targets = Object.entries(exports).flatMap(([path, { default: file }]) =>
  (path.includes('*') ? plugins : ['']).map((name) => [path.replace('*', name), file?.replace('*', name)] as const),
)
const entrypoints = targets.flatMap(([path, file]) => (file === undefined ? [] : [path]))
const unwanted = /\.test\.|(^|\/)(\.env|\.zin|node_modules|scripts)(\/|$)/

function run(bin: string, args: readonly string[]): boolean {
  const { status, stdout, stderr } = spawnSync(`node_modules/.bin/${bin}`, args, { encoding: 'utf8', shell: process.platform === 'win32' })
  if (status !== 0) console.error(`${bin}:\n${stdout}${stderr}`)
  return status === 0
}

const unbuilt = targets.filter(([, file]) => file !== undefined && !existsSync(file)).map(([, file]) => file)
if (unbuilt.length > 0) {
  console.error(`Missing files of "exports" in package.json: ${unbuilt.join(', ')}. Run npm run build`)
  process.exit(1)
}

/** Declaration files that add to the types of `zin`, and that no entry point refers to: apps do not get what they add. */
function lostAugmentations(): readonly string[] {
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file) || !existsSync(file)) return
    seen.add(file)
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from |import\(|import )['"](\.[^'"]+)\.js['"]/g))
      visit(resolve(dirname(file), `${path}.d.ts`))
  }
  for (const [, file] of targets) if (file !== undefined) visit(resolve(file.replace(/\.js$/, '.d.ts')))
  const all = readdirSync('dist', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
  return all.filter((name) => !seen.has(resolve('dist', name)) && readFileSync(join('dist', name), 'utf8').includes("declare module 'zin'"))
}

const lost = lostAugmentations()
for (const file of lost) console.error(`dist/${file} adds to the types of zin, and no entry point refers to it: re-export it from index.ts`)
if (lost.length > 0) process.exit(1)

const check = (): Promise<boolean> =>
  withTarball((tarball) => {
    const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).split('\n')
    const strangers = files.filter((file) => unwanted.test(file.replace('package/', '')) && !file.startsWith('package/examples/'))
    const secrets = files.filter((file) => /\/(\.env|\.zin)(\/|$)/.test(file))
    for (const file of [...strangers, ...secrets]) console.error(`the package contains ${file}, which must not be published`)
    const types = run('attw', [tarball, '--profile', 'esm-only', '--no-definitely-typed', '--entrypoints', ...entrypoints])
    return run('publint', ['run', tarball, '--strict']) && types && strangers.length + secrets.length === 0
  })

// The result depends on the names of the files, and on the content of few.
const onDisk = ['dist', 'examples'].flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }))
// Names that contain a digest of their content say nothing more.
const named = onDisk.filter((name) => !/^(chunks|console)[\\/]/.test(name)).sort()
const tracked = repositoryFiles()
const contents = [...declarationFiles(), 'tsup.config.ts', 'scripts/pack.ts', 'scripts/check-exports.ts']
const digest = tracked === undefined ? undefined : digestOf(contents, [...tracked, ...named])
process.exitCode = (await unlessPassed('exports', digest, check)) ? 0 : 1
