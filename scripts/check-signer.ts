// Prints what `zin/signer` weighs in a page, bundled from what the build made; fails when it weighs too much or imports something.
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Bytes; a quarter above what it weighed when this was set. */
const most = { minified: 8_540, gzipped: 3_580 }

const { outputFiles, metafile } = await build({
  entryPoints: ['dist/core/signing/client.js'],
  bundle: true,
  minify: true,
  write: false,
  metafile: true,
  format: 'esm',
  platform: 'neutral',
  packages: 'external',
  external: ['node:*'],
  logLevel: 'error',
})
const bytes = outputFiles[0]?.contents ?? new Uint8Array(0)
const size = { minified: bytes.length, gzipped: gzipSync(bytes, { level: 9 }).length }
console.log(`zin/signer: ${size.minified} bytes minified, ${size.gzipped} with gzip`)

const imported = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path))
const problems = [
  ...imported.map((path) => `zin/signer imports ${path}; it may import nothing, so that it runs everywhere`),
  ...(['minified', 'gzipped'] as const)
    .filter((kind) => size[kind] > most[kind])
    .map(
      (kind) =>
        `zin/signer has ${size[kind]} bytes ${kind}; ${most[kind]} is the most. Make it smaller, or raise the limit in scripts/check-signer.ts`,
    ),
]
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
