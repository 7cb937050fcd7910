import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { defineConfig } from 'tsup'

const plugins = readdirSync('plugins').filter((name) => existsSync(`plugins/${name}/index.ts`))

// JavaScript only: declarations come from tsc, because bundled ones break `declare module 'zin'`.
// Shared code lands in chunks, so that every entry sees one copy of the core.
export default defineConfig({
  entry: {
    cli: 'core/cli.ts',
    'core/index': 'core/index.ts',
    'core/testing': 'core/testing.ts',
    'core/signing/client': 'core/signing/client.ts',
    // For scripts/start.mjs.
    'core/cli/scaffold': 'core/cli/scaffold.ts',
    'plugins/index': 'plugins/index.ts',
    ...Object.fromEntries(plugins.map((name) => [`plugins/${name}/index`, `plugins/${name}/index.ts`])),
  },
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  // 370 small files, which cost the boot a fifth of its time. What they make are plain objects, so a second copy in an app is harmless.
  noExternal: ['typebox'],
  onSuccess: async () => copyFileSync('node_modules/typebox/license', 'dist/typebox.license'),
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
