import { existsSync, readdirSync } from 'node:fs'
import { build, type Plugin } from 'esbuild'
import { defineConfig } from 'tsup'
import { bundled, commonJs, copyLicences } from './scripts/build/bundled.js'

const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
const standalone = plugins.filter((name) => existsSync(`plugins/${name}/standalone.ts`))

/** Puts the licences of what was bundled beside it. */
const licences: Plugin = {
  name: 'licences',
  setup(options) {
    options.initialOptions.metafile = true
    options.onEnd(({ metafile }) => copyLicences(Object.keys(metafile?.inputs ?? {}), 'dist/licenses'))
  },
}

// JavaScript only: declarations come from tsc, because bundled ones break `declare module 'zin'`.
// Shared code lands in chunks, so that every entry sees one copy of the core.
export default defineConfig({
  entry: {
    cli: 'core/cli.ts',
    'core/index': 'core/index.ts',
    'core/testing': 'core/testing.ts',
    'core/signing/index': 'core/signing/index.ts',
    'core/signing/client': 'core/signing/client.ts',
    'plugins/sql-wire/clients/index': 'plugins/sql-wire/clients/index.ts',
    'core/signing/web': 'core/signing/web.ts',
    // For scripts/start.mjs.
    'core/cli/scaffold': 'core/cli/scaffold.ts',
    'plugins/index': 'plugins/index.ts',
    // Whose command an app lacks, see core/cli/standalone.ts.
    'plugins/commands': 'plugins/commands.ts',
    // Loaded by the processes of `zin test`.
    'core/cli/tests-ended': 'core/cli/tests-ended.ts',
    // Loaded by the threads and processes that run processors.
    'plugins/workers/processors/sandbox/child': 'plugins/workers/processors/sandbox/child.ts',
    // The process of a service.
    'plugins/microservices/run/child': 'plugins/microservices/run/child.ts',
    // The process of a SQLite file.
    'plugins/edge-proxy/local/sqlite-child': 'plugins/edge-proxy/local/sqlite-child.ts',
    ...Object.fromEntries(plugins.map((name) => [`plugins/${name}/index`, `plugins/${name}/index.ts`])),
    // Commands that need no app, see core/cli/standalone.ts.
    ...Object.fromEntries(standalone.map((name) => [`plugins/${name}/standalone`, `plugins/${name}/standalone.ts`])),
  },
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  noExternal: bundled,
  esbuildPlugins: [commonJs, licences],
  onSuccess: async () => {
    // One file without imports: what zin deploy sends, and miniflare runs.
    await build({
      entryPoints: ['plugins/edge-proxy/worker/index.ts'],
      outfile: 'dist/edge.js',
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      target: 'es2022',
      sourcemap: true,
      logLevel: 'error',
    })
  },
  splitting: true,
  sourcemap: true,
  clean: true,
  // `node:test` has no other name.
  removeNodeProtocol: false,
  silent: true,
  esbuildOptions(options) {
    options.chunkNames = 'chunks/[name]-[hash]'
    // The lines of the sources are enough for a stack.
    options.sourcesContent = false
  },
})
