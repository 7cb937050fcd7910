// Prints the bundled size of the entry points for browsers and edge runtimes; fails if one is too large or has imports.
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Limits in bytes; a quarter above the size at the time they were set. */
const entries = [
  { name: 'zin/signer', file: 'dist/core/signing/client.js', most: { minified: 8_540, gzipped: 3_580 } },
  { name: 'zin/edge', file: 'dist/edge.js', most: { minified: 68_500, gzipped: 26_000 } },
] as const

async function problemsOf({ name, file, most }: (typeof entries)[number]): Promise<readonly string[]> {
  const { outputFiles, metafile } = await build({
    entryPoints: [file],
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
  console.log(`${name}: ${size.minified} bytes minified, ${size.gzipped} after gzip`)
  const imported = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path))
  return [
    ...imported.map((path) => `${name} imports ${path}; it must not have imports, so that it runs everywhere`),
    ...(['minified', 'gzipped'] as const)
      .filter((kind) => size[kind] > most[kind])
      .map(
        (kind) =>
          `${name} is ${size[kind]} bytes ${kind}; the limit is ${most[kind]}. Make it smaller, or raise the limit in scripts/check-signer.ts`,
      ),
    ...(/\beval\(|new Function\(/.test(Buffer.from(bytes).toString())
      ? [`${name} uses eval or new Function, which edge runtimes refuse`]
      : []),
  ]
}

const problems = (await Promise.all(entries.map(problemsOf))).flat()
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
