import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { build } from 'esbuild'
import { defineConfig } from 'tsup'

const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))
const standalone = plugins.filter((name) => existsSync(`plugins/${name}/standalone.ts`))

/** Packages that go into `dist`, and those that they bring, with the file of their licence. */
const bundled = {
  typebox: 'license',
  kysely: 'LICENSE',
  ajv: 'LICENSE',
  'ajv-formats': 'LICENSE',
  'fast-deep-equal': 'LICENSE',
  'fast-uri': 'LICENSE',
  'json-schema-traverse': 'LICENSE',
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
  // 700 small files, which cost the boot a third of its time. An app may have a second copy: what they make are plain objects, or objects
  // that bring their own code.
  noExternal: Object.keys(bundled),
  onSuccess: async () => {
    for (const [name, file] of Object.entries(bundled)) copyFileSync(`node_modules/${name}/${file}`, `dist/${name}.license`)
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
  },
})
