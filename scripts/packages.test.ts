import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, it } from 'node:test'
import type { PackageUses, Plugin, PluginFactory } from 'zin'
import * as factories from 'zin/plugins'
import { standIn } from 'zin/plugins/sqlite'
import { loadConfig } from '../core/config/load.js'
import { keptForDevelopment } from './testing/production-install.js'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Manifest
const specs = (Object.values(factories) as readonly PluginFactory[]).flatMap(({ spec }) => spec ?? [])
const packagesOf = (spec: PluginFactory['spec']): PackageUses => spec.packages ?? {}

/** The optional packages that a file imports when it runs. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, 'utf8').replaceAll(/^import type .*$/gm, '')
  const found = text.matchAll(/(?:from |import\(|url\)\()'((?:@[^/']+\/)?[^/']+)[^']*'/g)
  return [...found].map(([, name = '']) => name).filter((name) => name in manifest.peerDependencies)
}

function sourcesOf(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/\.(test|contract|bench)\.ts$|(^|\/)(testing|app)\/|test-support/.test(name))
    .map((name) => join(folder, name))
}

/** Packages of a plugin and of those that it requires. */
function covered(spec: PluginFactory['spec']): readonly string[] {
  const required = specs.filter(
    (other) =>
      spec.dependencies?.includes(other.name) ||
      Object.values(spec.uses ?? {}).some((use) => {
        const { id, optional } = use as { readonly id: string; readonly optional: boolean }
        return !optional && other.provides?.some((ref) => ref.id === id)
      }),
  )
  return [spec, ...required].flatMap((one) => Object.keys(packagesOf(one)))
}

describe('packages that only some apps install', () => {
  it('are optional peers of zin, so that no app gets those of plugins that it does not use', () => {
    const declared = specs.flatMap((spec) => Object.keys(packagesOf(spec)))
    const hard = declared.filter((name) => name in manifest.dependencies || manifest.peerDependenciesMeta[name]?.optional !== true)
    assert.deepEqual(hard, [])
    // A checkout has them all.
    assert.deepEqual(
      Object.keys(manifest.peerDependencies).filter((name) => !(name in manifest.devDependencies)),
      [],
    )
  })

  for (const folder of readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))) {
    it(`plugins/${folder} imports only packages that its plugin declares`, async () => {
      const exported = Object.values((await import(`zin/plugins/${folder}`)) as object)
      const own = specs.filter((spec) => exported.some((one) => (one as { spec?: unknown } | undefined)?.spec === spec))
      // A folder without a plugin is loaded by several.
      const known = (own.length > 0 ? own : specs).flatMap(covered)
      const strangers = sourcesOf(`plugins/${folder}`).flatMap((file) =>
        importsOf(file)
          .filter((name) => !known.includes(name))
          .map((name) => `${file} imports ${name}`),
      )
      assert.deepEqual(strangers, [])
    })
  }

  for (const example of readdirSync('examples').filter((name) => existsSync(`examples/${name}/zin.config.ts`))) {
    it(`leave none of the tools of examples/${example} in production`, () => {
      assert.deepEqual(keptForDevelopment(JSON.parse(readFileSync(`examples/${example}/package.json`, 'utf8'))), [])
    })

    it(`are listed by examples/${example}, as \`zin add\` would (EXAMPLE_PACKAGES=write changes it)`, async () => {
      const { exported } = await loadConfig(resolve('examples', example), {})
      const wanted = ((exported as { plugins?: readonly Plugin[] }).plugins ?? []).flatMap(({ spec }) =>
        Object.entries(packagesOf(spec)).flatMap(([name, { added = true }]) => (added || name === standIn ? [name] : [])),
      )
      const file = `examples/${example}/package.json`
      const own = JSON.parse(readFileSync(file, 'utf8')) as { dependencies: Record<string, string>; optionalDependencies?: object }
      const versions = Object.fromEntries(wanted.map((name) => [name, manifest.peerDependencies[name] ?? '']))
      const { [standIn]: forOldNode, ...all } = { ...own.dependencies, ...versions }
      const dependencies = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
      const complete = { ...own, dependencies, ...(forOldNode === undefined ? {} : { optionalDependencies: { [standIn]: forOldNode } }) }
      if (process.env.EXAMPLE_PACKAGES === 'write') writeFileSync(file, `${JSON.stringify(complete, null, 2)}\n`)
      else assert.deepEqual(own, complete)
    })
  }
})
