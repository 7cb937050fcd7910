// Type-checks the repository, and the examples against the built package, as users do.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Outside of the tree: what is unchanged since the last check is not checked again. */
const state = 'node_modules/.cache/zin/types'
// Parallel checkers repeat each other's work: on two cores, one is faster than four.
const tsc = ['node_modules/ts7/bin/tsc', '--noEmit', '--checkers', '1', '--incremental']

/** One project for all examples with the same configuration: each run of the compiler reads the declarations of all packages. */
function exampleProjects(): readonly string[] {
  const folders = new Map<string, string[]>()
  for (const name of readdirSync('examples')) {
    const file = join('examples', name, 'tsconfig.json')
    if (!existsSync(file)) continue
    const text = readFileSync(file, 'utf8')
    folders.set(text, [...(folders.get(text) ?? []), resolve('examples', name)])
  }
  return [...folders].map(([text, paths], index) => {
    const config = JSON.parse(text) as { readonly include: readonly string[]; readonly exclude: readonly string[] }
    const inAll = (globs: readonly string[]): readonly string[] => paths.flatMap((path) => globs.map((glob) => join(path, glob)))
    const file = join(state, `examples-${index}.json`)
    writeFileSync(file, JSON.stringify({ ...config, include: inAll(config.include), exclude: inAll(config.exclude) }))
    return file
  })
}

mkdirSync(state, { recursive: true })
// The console is written in TSX and runs in browsers, so it has its own configuration.
const projects = ['tsconfig.json', 'plugins/console/app/tsconfig.json', ...exampleProjects()]
const failed = projects.filter((project) => {
  const args = [...tsc, '-p', project, '--tsBuildInfoFile', join(state, `${project.replaceAll(/[\\/]/g, '-')}.tsbuildinfo`)]
  return spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0
})
if (failed.length > 0) console.error(`Type errors in ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
